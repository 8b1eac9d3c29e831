import { parseSync } from '@swc/core';

/** One import of a file. `typesOnly`: it is erased at compile time. */
export interface Import {
  from: string;
  typesOnly: boolean;
}

export interface SourceFacts {
  imports: Import[];
  readsEnvironment: boolean;
}

/** The imports of a TypeScript source, in any form, and whether it reads `process.env`. */
export function factsOf(source: string): SourceFacts {
  const facts: SourceFacts = { imports: [], readsEnvironment: false };
  visit(parseSync(source, { syntax: 'typescript', target: 'es2022' }), facts);
  return facts;
}

function visit(node: any, facts: SourceFacts): void {
  if (node === null || typeof node !== 'object') return;
  if (Array.isArray(node)) {
    for (const item of node) visit(item, facts);
    return;
  }
  const from = importedBy(node);
  if (from !== undefined) facts.imports.push({ from, typesOnly: isTypesOnly(node) });
  if (isEnvironment(node)) facts.readsEnvironment = true;
  for (const value of Object.values(node)) visit(value, facts);
}

function importedBy(node: any): string | undefined {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      return node.source?.value;
    case 'TsImportType':
      return node.argument.value;
    case 'TsExternalModuleReference':
      return node.expression.value;
    case 'CallExpression': {
      const { callee } = node;
      const isImport =
        callee.type === 'Import' ||
        callee.value === 'require' ||
        (callee.object?.value === 'require' && callee.property?.value === 'resolve');
      return isImport ? String(node.arguments[0]?.expression.value ?? '(computed)') : undefined;
    }
    default:
      return undefined;
  }
}

function isTypesOnly(node: any): boolean {
  if (node.type === 'TsImportType' || node.typeOnly) return true;
  return node.type !== 'CallExpression' && node.specifiers?.length > 0 && node.specifiers.every((one: any) => one.isTypeOnly);
}

/** `process.env`, `process['env']`, and `const { env } = process`. */
function isEnvironment(node: any): boolean {
  if (node.type === 'MemberExpression') {
    const name = node.property.value ?? node.property.expression?.value;
    return node.object.value === 'process' && name === 'env';
  }
  return (
    node.type === 'VariableDeclarator' &&
    node.init?.value === 'process' &&
    node.id.type === 'ObjectPattern' &&
    node.id.properties.some((one: any) => one.key?.value === 'env')
  );
}
