import { z } from 'zod';
import { defineTool } from '../defining/define-tool';
import { ToolFailure } from '../defining/tool-failure';
import { changeFiles } from './change-files';
import { isText } from './file-text';
import { openWorkspace } from './open-workspace';
import { PatchError } from './patch/file-patch';
import { parsePatch, pathsOfPatch } from './patch/parse-patch';
import { planPatch } from './patch/plan-patch';

const description = `Change one or several files with a patch: all of it is applied, or nothing. Either a unified diff, or this form:

*** Begin Patch
*** Update File: src/a.ts
@@ function total(items) {
 a line that stays
-a line that goes
+a line that comes
*** Add File: src/b.ts
+every line begins with +
*** Delete File: src/c.ts
*** End Patch

Each hunk needs enough lines around it to fit at one place only; the optional text after "@@ " is a line above it. "*** Move to: <path>" after "*** Update File:" moves the file. "*** End of File" after a hunk says that the file ends there.`;

/**
 * Applies a patch to files of the workspace, as a whole or not at all. `keyed`: a journal in the workspace remembers the call, so that the next
 * attempt after a crash completes it, and applies nothing twice.
 */
export const applyPatch = defineTool({
  name: 'apply_patch',
  description,
  input: z.object({
    patch: z
      .string()
      .regex(/\S/, 'must not be empty')
      .refine(...isText),
    dry_run: z.boolean().default(false).describe('Only check the patch, and list what would change.'),
  }),
  effect: 'keyed',
  async execute({ patch, dry_run: dryRun }, ctx) {
    const workspace = await openWorkspace(ctx.workspace, ctx);
    const makePlan = () => planPatch(workspace, parsePatch(patch), dryRun);
    try {
      return dryRun ? (await makePlan()).report : await changeFiles(workspace, ctx, pathsOfPatch(patch), makePlan);
    } catch (error) {
      if (!(error instanceof PatchError)) throw error;
      throw new ToolFailure(`Error: ${error.message} Nothing was changed.`, { name: error.name, message: error.message });
    }
  },
});
