/** The folder, in the directory in which `longhaul` starts, for threads (`dev --data`) and diverged histories. Agents may work in that directory. */
export const ownFolder = '.longhaul';
