import type OpenAI from 'openai';
import { isObject } from '../../core/json';
import { type ToolMessage, textOf } from '../../core/message';
import { type Item, textIn } from './hosted-tools';

type InputItem = OpenAI.Responses.ResponseInputItem;

/**
 * Converts calls of tools that OpenAI defines and the client runs. They are available if `providerOptions.tools` requests such a tool. If the
 * agent has a tool of that name, they are ordinary calls; other servers run tools of these types themselves.
 */
export function clientCallOf(item: Item): { name: string; arguments: string } | undefined {
  switch (item.type) {
    case 'custom_tool_call':
      return { name: textIn(item.name), arguments: JSON.stringify({ input: textIn(item.input) }) };
    case 'local_shell_call':
      return { name: 'local_shell', arguments: JSON.stringify(item.action ?? {}) };
    case 'shell_call':
      return { name: 'shell', arguments: JSON.stringify(item.action ?? {}) };
    case 'apply_patch_call':
      return { name: 'apply_patch', arguments: JSON.stringify(item.operation ?? {}) };
    case 'computer_call':
      return { name: 'computer', arguments: JSON.stringify(item.actions ? { actions: item.actions } : (item.action ?? {})) };
    default:
      return undefined;
  }
}

/** Whether the API rejects the item without its result item. */
export function needsResult(item: Item): boolean {
  return clientCallOf(item) !== undefined || (item.type === 'tool_search_call' && item.execution === 'client');
}

type Output = OpenAI.Responses.ResponseInputItem.FunctionCallOutput['output'];

/** The result of a call, in the type that its call requires. */
export function toResultItem(call: Item | undefined, callId: string, message: ToolMessage, output: Output): InputItem {
  const { isError, content } = message;
  const text = textOf(content);
  switch (call?.type) {
    case 'custom_tool_call':
      return { type: 'custom_tool_call_output', call_id: callId, output: output as string };
    case 'local_shell_call':
      // The SDK's type has the call id under `id`; the API expects `call_id`.
      return { type: 'local_shell_call_output', call_id: callId, output: text } as unknown as InputItem;
    case 'shell_call': {
      const outcome = { type: 'exit' as const, exit_code: isError ? 1 : 0 };
      const said = isError ? { stdout: '', stderr: text } : { stdout: text, stderr: '' };
      const { action } = call;
      const longest =
        isObject(action) && typeof action.max_output_length === 'number' ? { max_output_length: action.max_output_length } : {};
      return { type: 'shell_call_output', call_id: callId, output: [{ ...said, outcome }], ...longest };
    }
    case 'apply_patch_call':
      return { type: 'apply_patch_call_output', call_id: callId, status: isError ? 'failed' : 'completed', output: text };
    case 'computer_call': {
      const image = typeof content === 'string' ? undefined : content.find((part) => part.type === 'image');
      return {
        type: 'computer_call_output',
        call_id: callId,
        output: { type: 'computer_screenshot', ...(image && { image_url: image.url }) },
      };
    }
    default: {
      // The program that made the call waits for the result.
      const caller = isObject(call?.caller) && call.caller.type === 'program' ? { caller: call.caller } : {};
      return { type: 'function_call_output', call_id: callId, output, ...caller } as InputItem;
    }
  }
}
