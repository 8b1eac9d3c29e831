import { createCoder } from '../../src/agents';
import { readConfig } from '../../src/config';
import { createPermissions } from '../../src/tools';

const { model } = readConfig();

/** The built-in coder. In the demo only publishing needs approval. */
export const coder = createCoder({
  ...(model && { model }),
  permissions: createPermissions({}),
  shellApproval: ({ command }) => /publish/.test(command),
});
