const resources = ['pet', 'order', 'invoice', 'customer', 'parcel', 'warehouse', 'refund', 'coupon', 'review', 'supplier'];
const actions = [
  ['list', 'get', ''],
  ['create', 'post', ''],
  ['get', 'get', '/{id}'],
  ['update', 'put', '/{id}'],
  ['delete', 'delete', '/{id}'],
] as const;

/** An OpenAPI document with 1,000 operations: 5 on each of 10 resources in 20 regions. Only those of the first 19 regions have tags. */
export function largeDocument(server: string) {
  const paths: Record<string, Record<string, object>> = {};
  for (let region = 1; region <= 20; region++) {
    for (const resource of resources) {
      for (const [action, method, rest] of actions) {
        const path = `/region${region}/${resource}s${rest}`;
        paths[path] = {
          ...paths[path],
          [method]: {
            operationId: `${action}${resource[0]?.toUpperCase()}${resource.slice(1)}Region${region}`,
            ...(region < 20 && { tags: [`${resource}s`] }),
            summary: `${action} a ${resource} of region ${region}`,
            parameters: [
              ...(rest === '' ? [] : [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }]),
              { name: `${resource}Note`, in: 'query', description: 'x'.repeat(200), schema: { type: 'string' } },
            ],
          },
        };
      }
    }
  }
  return { openapi: '3.0.3', info: { title: 'Shop', version: '1' }, servers: [{ url: server }], paths };
}
