import { searchAttributeTypes } from '../contract/search-attributes';

/** As numbered by Temporal's API. */
const indexedValueType = { Keyword: 2, Double: 4, Datetime: 6, KeywordList: 7 } as const;

/** The part of a connection that this needs; a worker's and a client's both have it. */
interface Operator {
  operatorService: {
    listSearchAttributes(request: { namespace: string }): Promise<{ customAttributes?: Record<string, unknown> | null }>;
    addSearchAttributes(request: { namespace: string; searchAttributes: Record<string, number> }): Promise<unknown>;
  };
}

/**
 * Registers our search attributes with the namespace where that is permitted. Returns false, with why, where they are not all there:
 * threads then do without them.
 */
export async function registerSearchAttributes(
  { operatorService }: Operator,
  namespace: string,
): Promise<{ registered: boolean; why?: string }> {
  const missing = async () => {
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
    return Object.keys(searchAttributeTypes).filter(
      (name) => !customAttributes || !(name in customAttributes),
    ) as (keyof typeof searchAttributeTypes)[];
  };
  try {
    const names = await missing();
    if (names.length > 0) {
      const searchAttributes = Object.fromEntries(names.map((name) => [name, indexedValueType[searchAttributeTypes[name]]]));
      await operatorService.addSearchAttributes({ namespace, searchAttributes }).catch(async (error: unknown) => {
        // Another worker may have been a moment faster.
        if ((await missing()).length > 0) throw error;
      });
    }
    return { registered: true };
  } catch (error) {
    return { registered: false, why: (error as Error).message };
  }
}
