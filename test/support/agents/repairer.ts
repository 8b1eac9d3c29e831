import { createCoder, createPermissions } from 'longhaul';

/** The built-in agent, which asks nobody. */
export const coder = createCoder({ permissions: createPermissions({ mode: 'full-access' }) });
