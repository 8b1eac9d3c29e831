import { sentId } from '../../core/call-ids';
import { isObject, parseObject } from '../../core/json';
import { type AnswerPart, fileWords, type HostedToolPart } from '../../core/message';
import { dataOf } from '../wire/data-url';
import { fileData } from './files';
import { type Own, optionsOf, ownOf } from './own';
import type { AnswerPromptPart, Reader } from './spec';

/** Converts an answer for its own model: with the metadata of each part, and the results of hosted tools in their original order. */
export function answerPrompt(parts: readonly AnswerPart[], reader: Reader): AnswerPromptPart[] {
  const prompt: AnswerPromptPart[] = [];
  const waiting = new Map<string, AnswerPromptPart[]>();
  for (const part of parts) {
    if (part.type !== 'hosted-tool') {
      prompt.push(...toPrompt(part, reader));
      continue;
    }
    const own = ownOf(part.opaque, reader.provider);
    if (!own) continue;
    const { call, result } = hostedPrompt(part, own);
    prompt.push(...call);
    const others = waiting.get(part.id) ?? [];
    // The result of a tool may come after the results of tools that it used itself.
    if (own.behind === undefined) prompt.push(...result, ...others);
    else {
      prompt.push(...others);
      waiting.set(own.behind, [...(waiting.get(own.behind) ?? []), ...result]);
    }
  }
  return prompt;
}

function hostedPrompt({ id, name, input, output, isError }: HostedToolPart, own: Own): Record<'call' | 'result', AnswerPromptPart[]> {
  const called = { toolCallId: id, toolName: own.tool ?? name };
  const outcome = { type: isError ? ('error-json' as const) : ('json' as const), value: output ?? null };
  return {
    call: own.isLate ? [] : [{ type: 'tool-call', ...called, input, providerExecuted: true, ...optionsOf(own.metadata) }],
    result: output === undefined ? [] : [{ type: 'tool-result', ...called, output: outcome, ...optionsOf(own.result) }],
  };
}

function toPrompt(part: Exclude<AnswerPart, HostedToolPart>, { version, provider }: Reader): AnswerPromptPart[] {
  const own = ownOf(part.opaque, provider);
  const options = optionsOf(own?.metadata);
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' && !own ? [] : [{ type: 'text', text: part.text, ...options }];
    case 'refusal':
      return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text }];
    case 'reasoning':
      // From another provider that was registered under this name before.
      if (part.opaque !== undefined && !own) return [];
      if (own?.custom) return [{ type: 'custom', kind: own.custom, ...options }];
      if (own?.file) return [reasoningFile(own.file, options)];
      return part.text === '' && !own ? [] : [{ type: 'reasoning', text: part.text, ...options }];
    case 'tool-call':
      return [{ type: 'tool-call', toolCallId: sentId(part), toolName: part.name, input: inputOf(part.arguments), ...options }];
    case 'image':
    case 'file': {
      const data = dataOf(part.url);
      const mediaType = part.type === 'file' ? part.mediaType : (data?.mediaType ?? 'image/*');
      if (!own || (!data && !URL.canParse(part.url))) {
        return [{ type: 'text', text: `[${part.type === 'image' ? 'Image' : fileWords(part)}]` }];
      }
      return [{ type: 'file', data: fileData(data?.data ?? new URL(part.url), version), mediaType, ...options }];
    }
    case 'source':
    case 'compaction':
      return [];
  }
}

function reasoningFile({ mediaType, data, url }: NonNullable<Own['file']>, options: object): AnswerPromptPart {
  return { type: 'reasoning-file', mediaType, data: fileData(url === undefined ? (data ?? '') : new URL(url), 'v4'), ...options };
}

/** Most providers require an object. Other input is wrapped in one, so that the model still sees what it wrote. */
function inputOf(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  const input = parseObject(text);
  return isObject(input) ? input : { malformed_arguments: text };
}
