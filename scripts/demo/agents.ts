import { createCoder } from '../../src/agents';
import { readConfig } from '../../src/config';
import { createPermissions } from '../../src/tools';

const { model } = readConfig();

/** The built-in coder, which may do everything here by itself but publish. */
export const coder = createCoder({
  ...(model && { model }),
  permissions: createPermissions({}),
  shellApproval: ({ command }) => /publish/.test(command),
});
