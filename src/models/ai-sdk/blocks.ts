import { type Draft, metadataOf, textIn } from './drafts';
import type { Own } from './own';

type BlockType = 'text' | 'reasoning';

/** A block of text or reasoning while it is streamed. `metadata` is the last that arrived, and applies to the whole block. */
interface Block {
  part: { type: BlockType; text: string; opaque?: Own };
  pieces: string[];
  metadata: unknown;
}

/** Collects the text and reasoning of an answer. Several blocks may arrive concurrently. */
export function foldBlocks({ provider, count, push, onDelta }: Draft): { take(part: Record<string, unknown>): boolean; closeAll(): void } {
  const open = { text: new Map<unknown, Block>(), reasoning: new Map<unknown, Block>() };

  /** Returns whether the part belongs to a block. */
  function take(given: Record<string, unknown>): boolean {
    switch (given.type) {
      case 'text-start':
      case 'reasoning-start':
        begin(given.type === 'text-start' ? 'text' : 'reasoning', given);
        return true;
      case 'text-delta':
      case 'reasoning-delta':
        add(given.type === 'text-delta' ? 'text' : 'reasoning', given);
        return true;
      case 'text-end':
      case 'reasoning-end':
        end(given.type === 'text-end' ? 'text' : 'reasoning', given);
        return true;
      default:
        return false;
    }
  }

  function begin(type: BlockType, { id, providerMetadata }: Record<string, unknown>): Block {
    const earlier = open[type].get(id);
    if (earlier) close(earlier);
    const block: Block = { part: { type, text: '' }, pieces: [], metadata: providerMetadata };
    push(block.part);
    open[type].set(id, block);
    return block;
  }

  function add(type: BlockType, given: Record<string, unknown>): void {
    const block = open[type].get(given.id) ?? begin(type, given);
    block.metadata = given.providerMetadata ?? block.metadata;
    const delta = textIn(given.delta);
    if (delta === '') return;
    if (type === 'text') count.said(delta.length);
    else count.thought(delta.length);
    block.pieces.push(delta);
    onDelta({ type, text: delta });
  }

  function end(type: BlockType, { id, providerMetadata }: Record<string, unknown>): void {
    const block = open[type].get(id);
    if (!block) return;
    block.metadata = providerMetadata ?? block.metadata;
    open[type].delete(id);
    close(block);
  }

  function close({ part, pieces, metadata }: Block): void {
    part.text = pieces.join('');
    const kept = metadataOf(metadata, count);
    if (kept.metadata) part.opaque = { provider, ...kept };
  }

  function closeAll(): void {
    for (const block of [...open.text.values(), ...open.reasoning.values()]) close(block);
    open.text.clear();
    open.reasoning.clear();
  }

  return { take, closeAll };
}
