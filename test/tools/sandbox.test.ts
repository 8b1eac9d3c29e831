import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, fstatSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createSandbox } from '../../src/tools/built-in/sandbox/sandbox';
import { createShell, type ShellOptions } from '../../src/tools/built-in/shell';
import { createPermissions, type PermissionMode } from '../../src/tools/permissions/permissions';
import { createToolbox } from '../../src/tools/running/toolbox';
import { testInSandbox } from '../support/in-sandbox';
import { callOf, newFolder, removeFolders, run, told } from './tool-host';

let workspace: string;
beforeEach(async () => {
  workspace = await newFolder();
});
afterEach(removeFolders);

const confined = (command: string, more: object = {}, sandbox: ShellOptions['sandbox'] = 'required') =>
  told(createShell({ sandbox }), { command, ...more }, { workspace });
const inWorkspace = (name: string) => readFile(join(workspace, name), 'utf8');

describe('a command in the sandbox', () => {
  testInSandbox('does what it does without: output, exit codes, folders and environment are the same', async () => {
    await mkdir(join(workspace, 'sub'));
    const plain = createShell({ environment: { GIVEN: 'a b' } });
    const shell = createShell({ environment: { GIVEN: 'a b' }, sandbox: 'required' });
    for (const command of [
      'for i in 1 2 3; do echo out $i; echo err $i >&2; done',
      'echo out; exit 3',
      'kill -9 $$',
      'kill -TERM $$',
      'no-such-program',
      'echo "open',
      'pwd; echo "$PWD" "$OLDPWD"; cd sub && pwd && pwd > where',
      'cat; echo end',
      'echo "$0" "$#" $-',
      'seq 1 100000; exit 4',
      'cat <(echo a) <(echo b); node -p "1 + 1"',
    ]) {
      expect(await told(shell, { command }, { workspace })).toBe(await told(plain, { command }, { workspace }));
    }
    expect(await told(shell, { command: 'pwd', workdir: 'sub' }, { workspace })).toBe(join(workspace, 'sub'));
    expect(await told(shell, { command: 'true', workdir: '..' }, { workspace })).toMatch(/is outside the workspace/);
    const variables = async (tool: typeof shell) =>
      (await told(tool, { command: "env | grep -v '^LONGHAUL_COMMAND=' | sort" }, { workspace })).replace(/^TMPDIR=.*$/m, 'TMPDIR=/tmp');
    expect((await variables(shell)).replace(/\n?^npm_config_offline=true$/m, '')).toBe(await variables(plain));
  });

  testInSandbox('npm fails at once without a network, and says why', async () => {
    expect(await confined('npm install left-pad', { timeout: 50 })).toMatch(/ENOTCACHED/);
    const online = createShell({ environment: { npm_config_offline: 'false' }, sandbox: 'required' });
    expect(await told(online, { command: 'echo $npm_config_offline' }, { workspace })).toMatch(/^false/);
  });

  testInSandbox('tells the model about it in one sentence, and only where it is used', () => {
    const words = (sandbox: ShellOptions['sandbox']) => createShell({ sandbox }).description.split('carry over.')[1];
    expect(words('off')).toBe('');
    expect(words('auto')).toBe(
      ' Commands run in a sandbox: they have no network and do not reach servers of other commands; only changes in the workspace last, and /tmp and the home folder are empty for each command.',
    );
    expect(words({ network: true })).not.toContain('network');
  });

  testInSandbox('reaches no port of the machine and no socket of another program, unless it may use the network', async () => {
    const outside = await newFolder();
    const abstract = `longhaul-test-${randomUUID()}`;
    const servers = [
      createServer().listen(0, '127.0.0.1'),
      createServer().listen(join(outside, 'socket')),
      createServer().listen(`\0${abstract}`),
    ];
    const { port } = await listening(servers);
    const connect = (to: string) =>
      `node -e "require('net').connect(${to}).on('connect', () => { console.log('reached'); process.exit() })"`;
    const tcp = connect(`${port}, '127.0.0.1'`);
    const socket = connect(`'${join(outside, 'socket')}'`);
    const nameless = connect(`String.fromCharCode(0) + '${abstract}'`);
    try {
      expect(await told(createShell(), { command: `${tcp}; ${socket}; ${nameless}` }, { workspace })).toBe('reached\nreached\nreached');
      expect(await confined(tcp)).toMatch(/ECONNREFUSED|ENETUNREACH/);
      expect(await confined(socket)).toMatch(/ENOENT/);
      expect(await confined(nameless)).toMatch(/ECONNREFUSED/);
      expect(await confined(tcp, {}, { network: true })).toBe('reached');
      expect(await confined(socket, {}, { network: true })).toMatch(/ENOENT/);
      expect(await confined(socket, {}, { readOnly: [outside] })).toBe('reached');
    } finally {
      for (const server of servers) server.close();
    }
  });

  testInSandbox('does not see the environment and the memory of the worker, nor any process but its own', async () => {
    process.env.LONGHAUL_TEST_SECRET = randomUUID();
    try {
      const all = await confined('cat /proc/[0-9]*/environ | tr "\\0" "\\n"; cat /proc/[0-9]*/cmdline | tr "\\0" " "');
      expect(all).toContain('LONGHAUL_COMMAND=');
      expect(all).not.toContain(process.env.LONGHAUL_TEST_SECRET);
      expect(all).not.toContain('jest');
      expect(Number(await confined('ls /proc | grep -c "^[0-9]"'))).toBeLessThan(8);
      expect(await confined(`kill -0 ${process.pid}; kill -0 ${process.ppid}`)).toMatch(/No such process[\s\S]*No such process/);
      // What a command without a sandbox can read.
      expect(await told(createShell(), { command: `tr "\\0" "\\n" < /proc/${process.pid}/environ | wc -l` }, { workspace })).not.toBe('0');
    } finally {
      delete process.env.LONGHAUL_TEST_SECRET;
    }
  });

  testInSandbox('changes only the workspace, and finds the home folder and /tmp empty each time', async () => {
    const outside = await newFolder();
    const name = `.longhaul-test-${randomUUID()}`;
    const atHome = join(homedir(), name);
    writeFileSync(atHome, 'a key');
    try {
      await writeFile(join(outside, 'secret'), 'a secret');
      const paths = [atHome, join(outside, 'secret'), '/run/docker.sock', '/var/run/docker.sock', '/var/lib', '/proc/kcore', '/sys/kernel'];
      for (const path of paths) expect(await confined(`ls -d ${path}`)).toMatch(/No such file or directory/);
      expect(await confined(`echo mine > ~/${name} && echo mine > "$TMPDIR/x" && cat ~/${name} /tmp/x`)).toBe('mine\nmine');
      expect(readFileSync(atHome, 'utf8')).toBe('a key');
      expect(await confined(`ls -A /tmp | wc -l; cat ~/${name}`)).toMatch(/^1\n.*No such file/);
      for (const path of ['/x', '/usr/x', '/etc/passwd', '/usr/bin/env', '/opt/x', '/var/x', '/proc/sys/kernel/core_pattern']) {
        expect(await confined(`: >> ${path}`)).toMatch(/Read-only file system|Permission denied/);
      }
      expect(await confined('echo kept > file; chmod 600 file; mv file other; mkdir d; ln -s other d/link; cat other')).toBe('kept');
      expect(await inWorkspace('other')).toBe('kept\n');
    } finally {
      rmSync(atHome);
    }
  });

  testInSandbox('does not leave the workspace through links and mounts', async () => {
    const outside = await newFolder();
    await writeFile(join(outside, 'secret'), 'a secret');
    await symlink(outside, join(workspace, 'link'));
    await symlink(join(outside, 'new'), join(workspace, 'dangling'));
    expect(await confined('cat link/secret')).toMatch(/No such file/);
    expect(await confined('echo x > link/secret; echo x > dangling; echo x > ../x; mkdir -p link/y')).toMatch(/No such file/);
    expect(existsSync(join(outside, 'new'))).toBe(false);
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('a secret');
    expect(
      await confined('umount /tmp; mount -t tmpfs none /mnt; unshare -Urm true; mknod disk b 254 0; grep CapEff /proc/self/status'),
    ).toMatch(/CapEff:\s+0{16}$/);
    expect(await confined('unshare -Ur echo owner of a namespace')).not.toMatch(/^owner/);
    expect(await confined(`ls /proc/1/root/; cat /proc/1/root${join(outside, 'secret')}; cat /proc/*/cwd/../secret`)).not.toContain(
      'a secret',
    );
  });

  testInSandbox('does not see passwords and private keys in /etc, even if the worker runs as root', async () => {
    expect(await confined('cat /etc/passwd | head -c 4')).toBe('root');
    const kept = existsSync('/etc/shadow') ? '/etc/shadow' : '/etc/passwd-';
    expect(await confined(`cat ${kept}`)).toMatch(/Permission denied|No such file/);
    const isPrivate = 'find /etc -type f ! -perm -o=r -size +0 | wc -l; find /etc -type d ! -perm -o=r ! -empty | wc -l';
    expect(await confined(isPrivate)).toBe('0\n0');
  });

  testInSandbox('has no terminal, also if the worker has one', async () => {
    expect(await confined(': < /dev/tty')).toMatch(/No such device or address/);
    expect(await confined('ls /dev/pts')).toBe('ptmx');
    const session = (at: string) => `cut -d ' ' -f 6 ${at}`;
    expect(await confined(session('/proc/self/stat'))).toBe('1');
  });
});

describe('an approval', () => {
  const needsApproval = async (sandbox: ShellOptions['sandbox'], mode: PermissionMode) => {
    const box = createToolbox([createShell({ sandbox })], { permissions: createPermissions({ mode }) });
    const call = callOf('shell', { command: 'npm test' });
    const verdict = await box.judge(call, { workspace });
    expect(await box.isFree(call, { workspace })).toBe(!('approval' in verdict));
    return 'approval' in verdict;
  };

  testInSandbox('is not needed for a command that the sandbox confines, if the mode says so', async () => {
    expect(await needsApproval('required', 'sandboxed')).toBe(false);
    expect(await needsApproval('auto', 'sandboxed')).toBe(false);
    expect(await needsApproval('required', 'trusted')).toBe(true);
    expect(await needsApproval('off', 'sandboxed')).toBe(true);
    // With the network it could reach Temporal, and decide about its own approvals.
    expect(await needsApproval({ network: true }, 'sandboxed')).toBe(true);
  });
});

describe('the paths of the setting', () => {
  testInSandbox('show more of the machine, to read or to change, and hide some of it; the most specific one decides', async () => {
    const [library, cache] = [await newFolder(), await newFolder()];
    await mkdir(join(library, 'private/public'), { recursive: true });
    await writeFile(join(library, 'code'), 'of a library');
    await writeFile(join(library, 'private/key'), 'a key');
    await writeFile(join(library, 'private/public/key'), 'a public key');
    await writeFile(join(workspace, '.env'), 'KEY=1');
    await chmod(join(workspace, '.env'), 0o644);
    await symlink(library, join(cache, 'link'));
    const sandbox = {
      readOnly: [library, join(library, 'private/public'), join(cache, 'link'), '/no/such/folder'],
      writable: [cache, '/no/such/cache'],
      hidden: [join(library, 'private'), join(workspace, '.env'), '/no/such/secret'],
    };
    const sh = (command: string) => confined(command, {}, sandbox);
    expect(await sh(`cat ${library}/code ${library}/private/public/key`)).toBe('of a librarya public key');
    expect(await sh(`echo x > ${library}/code; echo x > ${library}/private/x`)).toMatch(/Read-only[\s\S]*Read-only/);
    expect(await sh(`cat ${library}/private/key`)).toMatch(/No such file/);
    expect(await sh('cat .env; rm .env')).toMatch(/Permission denied[\s\S]*busy/);
    expect(await sh(`echo new > ${cache}/file; echo x > ${cache}/link/code`)).toMatch(/^\/bin\/bash:[\s\S]*Read-only/);
    expect(await readFile(join(cache, 'file'), 'utf8')).toBe('new\n');
    expect(await inWorkspace('.env')).toBe('KEY=1');
  });

  testInSandbox('can show the whole machine, but never the processes of the worker and the home folder', async () => {
    const outside = await newFolder();
    await writeFile(join(outside, 'secret'), 'seen');
    const sh = (command: string) => confined(command, {}, { readOnly: ['/', '/proc', '/dev', outside] });
    expect(await sh(`cat ${outside}/secret; ls -d /var/lib`)).toBe('seen/var/lib');
    expect(await sh(`cat /proc/[0-9]*/cmdline | tr "\\0" " "`)).not.toContain('jest');
    expect(
      await sh('ls -A ~ | grep -vE "^[.](gitconfig|config)$" | wc -l; ls -A /tmp | grep -c longhaul-tasks; ls /dev | grep -c "^vda"'),
    ).toMatch(/^0\n0\n0/);
    expect(await sh('touch /var/lib/x')).toMatch(/Read-only/);
  });

  testInSandbox('can not be evaded by a command that renames the folders around them for the next one', async () => {
    await mkdir(join(workspace, 'a/b/kept'), { recursive: true });
    await mkdir(join(workspace, 'a/b/fixed/more'), { recursive: true });
    await writeFile(join(workspace, 'a/b/kept/key'), 'a key');
    await writeFile(join(workspace, 'a/b/fixed/more/key'), 'a key');
    const [kept, fixed] = [join(workspace, 'a/b/kept'), join(workspace, 'a/b/fixed')];
    const sandbox = { readOnly: [fixed], hidden: [kept, join(fixed, 'more/key')] };
    for (const folder of ['a', 'a/b', 'a/b/kept', 'a/b/fixed'])
      expect(await confined(`mv ${folder} ${folder}2`, {}, sandbox)).toMatch(/busy/);
    expect(await confined('touch a/x a/b/x && ls a/b/kept | wc -l; touch a/b/fixed/x a/b/fixed/more/x', {}, sandbox)).toMatch(
      /^0\n.*Read-only[\s\S]*Read-only/,
    );
    expect(await confined('cat a/b/fixed/more/key', {}, sandbox)).toMatch(/Permission denied/);
  });

  testInSandbox('keep a folder of the workspace as it is, and a link in its place shows nothing else', async () => {
    const outside = await newFolder();
    await writeFile(join(outside, 'secret'), 'a secret');
    const vendor = join(workspace, 'vendor');
    const sandbox = { readOnly: [vendor, join(workspace, 'missing')] };
    await mkdir(vendor);
    expect(await confined('touch vendor/x; mv vendor other; ln -s elsewhere missing', {}, sandbox)).toMatch(/Read-only[\s\S]*busy/);
    rmSync(vendor, { recursive: true });
    await symlink(outside, vendor);
    expect(await confined('cat vendor/secret', {}, sandbox)).toMatch(/No such file/);
  });

  testInSandbox('must be paths, and a workspace must not contain the home folder or that for temporary files', async () => {
    expect(() => createShell({ sandbox: { readOnly: ['relative'] } })).toThrow(/readOnly must be a list of paths that are absolute/);
    expect(() => createShell({ sandbox: 'on' as 'off' })).toThrow(`mode is "on"; use 'off', 'auto' or 'required'`);
    expect(() => createShell({ sandbox: { net: true } as object })).toThrow("has the unknown key 'net'");
    for (const folder of [homedir(), tmpdir(), '/']) {
      const { outcome } = await run(createShell({ sandbox: 'auto' }), { command: 'echo ran' }, { workspace: folder });
      expect(outcome).toMatchObject({ status: 'failed', content: expect.stringMatching(/did not run, because the workspace .* contains/) });
    }
  });
});

describe("the workspace's repository", () => {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', workspace, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const withRepository = async () => {
    git('init', '-q', '-b', 'main');
    git('config', 'user.name', 'Dana');
    git('config', 'user.email', 'dana@example.com');
    await writeFile(join(workspace, 'a.txt'), 'a\n');
    git('add', '-A');
    git('commit', '-q', '-m', 'one');
  };

  testInSandbox('can be committed to, but its settings and its hooks stay as they are', async () => {
    await withRepository();
    const before = await inWorkspace('.git/config');
    const work =
      'echo b > b.txt && git add -A && git commit -q -m two && git checkout -q -b other && git stash list && git gc -q && git log --format=%an-%s';
    expect(await confined(work)).toBe('Dana-two\nDana-one');
    expect(git('log', '--format=%s', 'other')).toBe('two\none\n');
    for (const attempt of [
      'git config core.fsmonitor ./evil',
      'echo "[core]" >> .git/config',
      'mv .git/config .git/other',
      'echo evil > .git/hooks/post-commit',
      'rm -r .git/hooks',
      'mv .git/hooks .git/other',
      'mv .git other',
    ]) {
      expect(await confined(attempt)).toMatch(/Read-only file system|Device or resource busy/);
    }
    expect(await inWorkspace('.git/config')).toBe(before);
    expect(existsSync(join(workspace, '.git/hooks/post-commit'))).toBe(false);
  });

  testInSandbox('can be that of a linked worktree, if its folder is writable', async () => {
    await withRepository();
    const main = workspace;
    workspace = join(await newFolder(), 'linked');
    execFileSync('git', ['-C', main, 'worktree', 'add', '-q', '-b', 'linked', workspace]);
    expect(await confined('git status')).toMatch(/not a git repository/);
    const sandbox = { writable: [join(main, '.git')] };
    expect(await confined('echo c > c.txt && git add c.txt && git commit -q -m three && git log --format=%s', {}, sandbox)).toBe(
      'three\none',
    );
    expect(await confined('echo "gitdir: evil" > .git', {}, sandbox)).toMatch(/Read-only/);
    expect(await confined(`echo evil > ${main}/.git/hooks/post-commit`, {}, sandbox)).toMatch(/Read-only/);
    expect(await confined(`rm -f ${main}/.git/config; mv ${main}/.git ${main}/x`, {}, sandbox)).toMatch(/busy/);
  });

  testInSandbox('is not replaced by what a link in its place leads to', async () => {
    const outside = await newFolder();
    await mkdir(join(outside, 'hooks'));
    await writeFile(join(outside, 'hooks/secret'), 'a secret');
    await symlink(outside, join(workspace, '.git'));
    expect(await confined('cat .git/hooks/secret')).toMatch(/No such file/);
    rmSync(join(workspace, '.git'));
    await mkdir(join(workspace, '.git'));
    await symlink(join(outside, 'hooks'), join(workspace, '.git/hooks'));
    await symlink(join(outside, 'hooks/secret'), join(workspace, '.git/config'));
    expect(await confined('cat .git/hooks/secret .git/config')).toMatch(/No such file[\s\S]*No such file/);
  });

  testInSandbox('is opened before the sandbox is made, so that a link in the place of one of its folders shows nothing else', async () => {
    const outside = await newFolder();
    await writeFile(join(outside, 'secret'), 'a secret');
    await mkdir(join(workspace, '.git/hooks'), { recursive: true });
    const hooks = statSync(join(workspace, '.git/hooks')).ino;
    const out = createSandbox('required')?.confine({ workspace, cwd: workspace }, ({ command: [program = '', ...args], handles }) => {
      renameSync(join(workspace, '.git/hooks'), join(workspace, '.git/real'));
      symlinkSync(`../../${basename(outside)}`, join(workspace, '.git/hooks'));
      expect(handles.map((handle) => fstatSync(handle).ino)).toContain(hooks);
      const stdio = ['ignore' as const, 'pipe' as const, 'pipe' as const, 'ignore' as const, ...handles];
      return spawnSync(program, [...args, '/bin/sh', '-c', 'cat .git/hooks/secret; ls .git'], { stdio, encoding: 'utf8' });
    });
    expect(out?.stderr).toMatch(/bwrap: |No such file/);
    expect(out?.stdout).not.toContain('a secret');
  });

  testInSandbox('does not contain the files of longhaul for a command', async () => {
    await mkdir(join(workspace, '.longhaul/edits'), { recursive: true });
    await writeFile(join(workspace, '.longhaul/temporal.db'), 'threads');
    expect(await confined('ls -A .longhaul | wc -l; touch .longhaul/x; mv .longhaul other')).toMatch(/^0\n[\s\S]*Read-only[\s\S]*busy/);
  });
});

async function listening(servers: Server[]): Promise<{ port: number }> {
  await Promise.all(servers.map((server) => new Promise((done) => (server.listening ? done(undefined) : server.once('listening', done)))));
  return servers[0]?.address() as { port: number };
}
