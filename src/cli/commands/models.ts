import { readConfig } from '../../config';
import { createModelCatalog, type ModelCatalog } from '../../models/catalog/model-catalog';
import { capabilities, type ModelInfo } from '../../models/catalog/model-info';
import { styled } from '../views/styled';
import { table } from '../views/table';
import { note, print, printJson } from '../views/terminal';
import { tokens } from '../views/words';

interface KnownModel extends ModelInfo {
  name: string;
}

/** Prints what is known of the models whose names contain a text, or of the one model of that name, and where it comes from. */
export function models(pattern: string, { json }: { json?: boolean }): void {
  const { modelsFile } = readConfig();
  const known = find(createModelCatalog(modelsFile === undefined ? {} : { overrides: modelsFile }), pattern);
  if (json) {
    for (const model of known) printJson(model);
    return;
  }
  if (known.length === 0) return note(styled`Nothing is known of a model ${pattern}. It can be used all the same.`);
  const rows = known.map((model) => ({ cells: cellsOf(model) }));
  print(table(['MODEL', 'WINDOW', 'OUTPUT', '$ IN', '$ OUT', 'SOURCE', 'CANNOT', 'CAN'], rows, process.stdout.columns));
}

/** A whole name is described as a model call would find it: by a name without its date, for example. */
function find(catalog: ModelCatalog, pattern: string): KnownModel[] {
  const describe = (name: string) => {
    const slash = name.indexOf('/');
    return { name, ...catalog.describe(name.slice(slash + 1), name.slice(0, slash)) };
  };
  const whole = pattern.includes('/') ? describe(pattern) : undefined;
  if (whole && whole.sources.length > 0) return [whole];
  const wanted = pattern.toLowerCase();
  return catalog.names().flatMap((name) => (name.toLowerCase().includes(wanted) ? describe(name) : []));
}

function cellsOf({ name, windowTokens, maxOutputTokens, capabilities: known, prices, sources }: KnownModel): string[] {
  const told = (value: boolean) => capabilities.filter((one) => known[one] === value).join(' ') || '-';
  return [
    name,
    windowTokens === undefined ? '-' : tokens(windowTokens),
    maxOutputTokens === undefined ? '-' : tokens(maxOutputTokens),
    prices ? String(prices.inputPerMillion) : '-',
    prices ? String(prices.outputPerMillion) : '-',
    sources.join(', '),
    told(false),
    told(true),
  ];
}
