import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { configHome } from '../config';
import { isObject } from '../core/json';
import { type PermissionMode, permissionModes } from '../core/tool';

/** What a user has set for the built-in coder. It is a file of the user, not of a project: a repository could otherwise raise its own mode. */
export interface UserSettings {
  /** For every folder. */
  mode?: PermissionMode;
  /** By the path of a folder, for it and the folders in it. The nearest one counts. */
  folders?: Readonly<Record<string, { mode?: PermissionMode }>>;
}

export function userSettingsFile(): string {
  return join(configHome(), 'longhaul', 'settings.json');
}

/** Reads the settings; none if there is no file. Throws an error that names the file and what is wrong in it. */
export function readUserSettings(file = userSettingsFile()): UserSettings {
  if (!existsSync(file)) return {};
  const wrong = (problem: string) => new Error(`The settings in ${file} can't be used: ${problem}.`);
  let settings: unknown;
  try {
    settings = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw wrong((error as Error).message);
  }
  if (!isObject(settings)) throw wrong('it must be an object, such as { "mode": "trusted" }');
  const problem = problemOf(settings, ['mode', 'folders'], '');
  if (problem) throw wrong(problem);
  const { folders = {} } = settings;
  if (!isObject(folders)) throw wrong('folders must be an object, such as { "/home/dana/shop": { "mode": "trusted" } }');
  for (const [folder, one] of Object.entries(folders)) {
    const ofFolder = isObject(one) ? problemOf(one, ['mode'], ` of folder ${folder}`) : `folder ${folder} must have an object`;
    if (ofFolder) throw wrong(ofFolder);
  }
  return settings as UserSettings;
}

function problemOf(settings: object, known: readonly string[], where: string): string | undefined {
  const unknown = Object.keys(settings).find((key) => !known.includes(key));
  if (unknown !== undefined) return `the key ${JSON.stringify(unknown)}${where} is unknown; there are ${known.join(' and ')}`;
  const { mode } = settings as { mode?: unknown };
  const isKnown = mode === undefined || permissionModes.some((one) => one === mode);
  return isKnown ? undefined : `the mode${where} is ${JSON.stringify(mode)}; use ${permissionModes.join(', ')}`;
}

/** The mode that a user has set for a workspace: of the nearest folder that has one, or else of all folders. */
export function modeSetFor(workspace: string, { mode, folders = {} }: UserSettings): PermissionMode | undefined {
  const set = new Map(Object.entries(folders).map(([folder, one]) => [real(folder), one.mode]));
  for (let folder = real(workspace); ; folder = dirname(folder)) {
    const ofFolder = set.get(folder);
    if (ofFolder !== undefined) return ofFolder;
    if (folder === dirname(folder)) return mode;
  }
}

/** A workspace that does not exist yet is where its path says. */
function real(folder: string): string {
  const path = resolve(folder);
  return existsSync(path) ? realpathSync(path) : path;
}
