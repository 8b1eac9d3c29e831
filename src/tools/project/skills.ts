import { z } from 'zod';
import { defineTool } from '../defining/define-tool';
import { ToolFailure } from '../defining/tool-failure';
import { findSkills, readSkill, type Skill } from './skill-files';

/** Bounds of the list in the instructions. */
const mostListed = 100;
const mostCharacters = 16_000;

/** The list of skills as a part of the instructions; empty if there are none. */
export async function skillInstructions(folder: string): Promise<string> {
  const skills = await findSkills(folder);
  if (skills.length === 0) return '';
  const lines: string[] = [];
  let room = mostCharacters;
  for (const skill of skills.slice(0, mostListed)) {
    const line = lineOf(skill);
    room -= line.length;
    if (room < 0) break;
    lines.push(line);
  }
  const more = skills.length - lines.length;
  return [
    'There are skills: instructions for kinds of tasks. If one fits the task, load it with load_skill before you begin.',
    ...lines,
    ...(more > 0 ? [`[... ${more} more skills; find them with search_skills ...]`] : []),
  ].join('\n');
}

function lineOf({ name, description }: Skill): string {
  return `- ${name}: ${description}`;
}

/** Searches the names and descriptions of skills by words. */
export const searchSkills = defineTool({
  name: 'search_skills',
  description: 'Find skills (instructions for kinds of tasks) by words of their names and descriptions.',
  input: z.object({
    query: z.string().trim().min(1).max(500),
    limit: z.number().int().min(1).max(50).default(8).describe('How many skills at most.'),
  }),
  effect: 'pure',
  async execute({ query, limit }, ctx) {
    const words = query.toLowerCase().split(/\s+/);
    const ranked = (await findSkills(ctx.workspace))
      .map((skill) => ({ skill, score: scoreOf(skill, words) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score);
    if (ranked.length === 0) return 'No skills found.';
    const shown = ranked.slice(0, limit).map(({ skill }) => `${lineOf(skill)}\n  ${skill.path}`);
    return [...shown, ...(ranked.length > limit ? [`[... ${ranked.length - limit} more skills ...]`] : [])].join('\n');
  },
});

/** A word of the name counts more than one of the description. */
function scoreOf({ name, description }: Skill, words: readonly string[]): number {
  const [title, text] = [name.toLowerCase(), description.toLowerCase()];
  return words.reduce((score, word) => score + (title.includes(word) ? 3 : 0) + (text.includes(word) ? 1 : 0), 0);
}

/** Loads a skill by its name, or by the path of its file if several have the name. */
export const loadSkill = defineTool({
  name: 'load_skill',
  description: 'Load a skill: the instructions for a kind of task. Give its name, or its path if several skills have that name.',
  input: z.object({
    name: z.string().trim().min(1).max(4_096).describe('The name of the skill, or the path of its file.'),
    known_hash: z.string().optional().describe('The hash of the skill, if you have loaded it before: unchanged, it is not shown again.'),
  }),
  effect: 'pure',
  async execute({ name, known_hash: known }, ctx) {
    const skill = chosen(await findSkills(ctx.workspace), name);
    const file = await readSkill(skill);
    if (!file) throw skillError(`The file ${skill.path} can't be read, or is not text.`);
    const { text, hash } = file;
    if (hash === known) return `The skill ${name} is unchanged.\n[hash: ${hash}]`;
    return `Skill ${skill.path}:\n\n${text.trim()}\n[hash: ${hash}]`;
  },
});

function chosen(skills: readonly Skill[], wanted: string): Skill {
  const found = skills.filter(({ name, path }) => name === wanted || path === wanted);
  const [skill, ...others] = found;
  if (skill && others.length === 0) return skill;
  const problem = skill
    ? `Several skills are named '${wanted}'. Give the path of one: ${found.map(({ path }) => path).join(', ')}.`
    : `There is no skill '${wanted.slice(0, 100)}'. ${skills.length === 0 ? 'There are none here.' : `There are: ${names(skills)}.`}`;
  throw skillError(problem);
}

function skillError(problem: string): ToolFailure {
  return new ToolFailure(`Error: ${problem}`, { name: 'SkillError', message: problem });
}

function names(skills: readonly Skill[]): string {
  const all = skills.map(({ name }) => name);
  return `${all.slice(0, 50).join(', ')}${all.length > 50 ? ', …' : ''}`;
}
