/**
 * Files that make harmless commands run code: git's attributes and modules, settings and scripts of package managers, start-up files of shells and
 * debuggers, and folders whose content tools run. A change of one takes effect with a command that nobody would stop to think about.
 */
const files = new Set(
  [
    '.gitattributes .gitmodules .gitconfig',
    'package.json .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnp.cjs bunfig.toml',
    '.profile .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .inputrc .envrc',
    '.curlrc .wgetrc .vimrc .exrc .gdbinit .lldbinit .pythonrc .pypirc pip.conf sitecustomize.py usercustomize.py',
  ]
    .join(' ')
    .split(' '),
);
const folders = new Set(['.husky', '.githooks', '.vscode', '.idea', '.devcontainer', '.cargo']);

/** Whether a path names such a file, or one in such a folder. In any case, because file systems may ignore it. */
export function makesCommandsRunCode(path: string): boolean {
  const names = path.toLowerCase().split(/[\\/]/);
  // The user's settings of this program, which say what runs without approval.
  if (names.slice(-2).join('/') === 'longhaul/settings.json') return true;
  return files.has(names.at(-1) ?? '') || names.some((name) => folders.has(name));
}
