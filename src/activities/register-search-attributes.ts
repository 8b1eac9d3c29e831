import { searchAttributes } from '../contract/search-attributes';

/** The numbers of Temporal's API. */
const indexedValueType = { KEYWORD: 2, DOUBLE: 4, DATETIME: 6, KEYWORD_LIST: 7 } as const;

/** The part of a connection that is needed here. Connections of workers and clients both have it. */
interface Operator {
  operatorService: {
    listSearchAttributes(request: { namespace: string }): Promise<{ customAttributes?: Record<string, unknown> | null }>;
    addSearchAttributes(request: { namespace: string; searchAttributes: Record<string, number> }): Promise<unknown>;
  };
}

/**
 * Registers the missing search attributes with the namespace. If some can't be registered, returns false and the reason (`why`). Threads then
 * work without search attributes.
 */
export async function registerSearchAttributes(
  { operatorService }: Operator,
  namespace: string,
): Promise<{ registered: boolean; why?: string }> {
  const missing = async () => {
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
    return Object.values(searchAttributes).filter(({ name }) => !customAttributes || !(name in customAttributes));
  };
  try {
    const keys = await missing();
    if (keys.length > 0) {
      const types = Object.fromEntries(keys.map(({ name, type }) => [name, indexedValueType[type]]));
      await operatorService.addSearchAttributes({ namespace, searchAttributes: types }).catch(async (error: unknown) => {
        // Another worker may have registered them meanwhile.
        if ((await missing()).length > 0) throw error;
      });
    }
    return { registered: true };
  } catch (error) {
    return { registered: false, why: (error as Error).message };
  }
}
