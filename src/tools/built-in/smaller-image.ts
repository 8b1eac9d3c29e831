import { join } from 'node:path';
import { BoundedThread } from '../defining/bounded-thread';
import type { ToolContext } from '../defining/define-tool';
import { fewAtOnce } from '../running/few-at-once';
import { type ImageAnswer, type ImageWork, type MadeImage, threadName } from './image-thread.js';

const thread = { file: join(__dirname, 'image-thread.js'), name: threadName, what: 'scaling the image', ms: 15_000, mb: 256 };

/** An image has four bytes for each pixel, a few times over. */
const inTurn = fewAtOnce(1);

/**
 * Decodes an image, of an animation the first frame, and encodes it as PNG or JPEG, scaled down to fit, in a worker thread: one image at a time; Longhaul
 * threads (`threadId`) take turns. The caller bounds the number of its pixels. Rejects if the image is damaged, can't be made small enough, or takes more
 * than 15 s.
 */
export function smallerImage(work: ImageWork, { signal, threadId }: Pick<ToolContext, 'signal' | 'threadId'>): Promise<MadeImage> {
  return inTurn(async () => {
    signal.throwIfAborted();
    const running = new BoundedThread<ImageWork, ImageAnswer>(thread);
    try {
      await running.ready;
      const answer = await running.ask(work);
      if ('thrown' in answer) throw new Error(answer.thrown);
      return answer;
    } finally {
      running.end(new Error('the image is done'));
    }
  }, threadId);
}
