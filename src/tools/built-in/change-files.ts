import { ToolFailure } from '../defining/tool-failure';
import { contentHash } from './content-hash';
import { EditJournal, type EditPlan, type PlannedFile } from './edit-journal';
import { type FileBytes, readBytes } from './file-text';
import { oneAtATime } from './one-at-a-time';
import { unlessMissing, type Workspace } from './workspace';

/**
 * Carries out a call that changes files, all of them or none, and returns its report. `makePlan` decides what changes; `paths` are the files that
 * the call names. If an earlier attempt at the call died after a change, this one completes what that attempt had planned, and decides nothing anew:
 * an edit whose result is in place would not find its old text.
 */
export async function changeFiles(
  workspace: Workspace,
  call: Call,
  paths: readonly string[],
  makePlan: () => Promise<EditPlan>,
): Promise<string> {
  // Two calls of one answer may change the same file: the second must see what the first wrote.
  return oneAtATime(workspace.root, () => change(workspace, call, paths, makePlan));
}

interface Call {
  idempotencyKey: string;
  signal: AbortSignal;
}

async function change(
  workspace: Workspace,
  { idempotencyKey, signal }: Call,
  paths: readonly string[],
  makePlan: () => Promise<EditPlan>,
): Promise<string> {
  const journal = new EditJournal(workspace, idempotencyKey);
  const earlier = await journal.read();
  if (earlier && !earlier.files) return earlier.report;
  const begun =
    earlier?.files && (await hasBegun(workspace, earlier.files, paths)) ? { report: earlier.report, files: earlier.files } : undefined;
  const { report, files } = begun ?? (await makePlan());
  signal.throwIfAborted();
  if (!begun) await journal.begin({ report, files });
  const changed: Found[] = [];
  try {
    await carryOut(workspace, files, changed);
  } catch (error) {
    // This process may have been frozen while another attempt completed the call.
    const now = await journal.read();
    if (now && !now.files) return now.report;
    await undo(workspace, changed, error);
    await journal.cancel();
    throw error;
  }
  await journal.complete(report);
  return report;
}

/**
 * Whether an earlier attempt may have changed a file. If it has changed none, its plan is made again from the call: a program that can write in the
 * workspace could have written the entry. For the same reason, an entry counts only for files that the call names.
 */
async function hasBegun(workspace: Workspace, files: readonly PlannedFile[], paths: readonly string[]): Promise<boolean> {
  const named = new Set(await Promise.all(paths.map((path) => workspace.inside(path))));
  const found = await Promise.all(files.map((file) => find(workspace, file)));
  const other = found.find(({ real }) => !named.has(real));
  if (other)
    throw new ToolFailure(
      `Error: The entry of this call in .longhaul/edits changes '${other.file.path}', which the call does not name. Nothing was written.`,
    );
  return !found.every(isAsPlanned);
}

interface Found {
  file: PlannedFile;
  real: string;
  before: FileBytes | undefined;
}

/** Changes every file, and notes those that it changes. Not stopped by a cancel, because half of a change is worse than all of it. */
async function carryOut(workspace: Workspace, files: readonly PlannedFile[], changed: Found[]): Promise<void> {
  const found = await Promise.all(files.map((file) => find(workspace, file)));
  const [done, open] = [found.filter(isDone), found.filter((each) => !isDone(each))];
  if (!open.every(isAsPlanned))
    throw changedMeanwhile(
      open.filter((each) => !isAsPlanned(each)),
      done,
    );
  for (const { file } of open) {
    // Again directly before the change: writing the other files took time.
    const now = await find(workspace, file);
    if (isDone(now)) continue;
    if (!isAsPlanned(now)) throw changedMeanwhile([now], []);
    changed.push(now);
    await write(workspace, now);
  }
}

async function find(workspace: Workspace, file: PlannedFile): Promise<Found> {
  const real = await workspace.inside(file.path);
  return { file, real, before: await readBytes(workspace, real, file.path) };
}

/** By an earlier attempt. */
function isDone({ file, before }: Found): boolean {
  return file.after === null ? before === undefined : before?.bytes.equals(Buffer.from(file.after)) === true;
}

function isAsPlanned({ file, before }: Found): boolean {
  return (before ? contentHash(before.bytes) : null) === file.before;
}

function changedMeanwhile(others: readonly Found[], done: readonly Found[]): ToolFailure {
  const names = (found: readonly Found[]) => found.map(({ file }) => file.path).join(', ');
  const written = done.length === 0 ? 'Nothing was written.' : `An earlier attempt at this call had already changed: ${names(done)}.`;
  return new ToolFailure(
    `Error: Something else changed these files at the same time: ${names(others)}. ${written} Read the files again, and make the changes that are missing.`,
  );
}

async function write(workspace: Workspace, { file: { path, after, mode }, real }: Found): Promise<void> {
  if (after === null) await workspace.remove(real, path);
  else await workspace.write(real, after, { asked: path, ...(mode !== undefined && { mode }) });
}

/** Restores the files in reverse order. One that can't be restored is named, because the model must look after it. */
async function undo(workspace: Workspace, changed: readonly Found[], cause: unknown): Promise<void> {
  const left: string[] = [];
  for (const { file, real, before } of changed.toReversed()) {
    try {
      if (before) await workspace.write(real, before.bytes, { asked: file.path, mode: before.mode });
      else await workspace.remove(real, file.path).catch(unlessMissing);
    } catch {
      left.push(file.path);
    }
  }
  if (left.length === 0) return;
  const why = cause instanceof Error ? cause.message : String(cause);
  throw new ToolFailure(`Error: ${why} The changes of these files could not be undone: ${left.join(', ')}. Look at them before you go on.`);
}
