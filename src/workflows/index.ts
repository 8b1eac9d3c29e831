/** The workflows that the worker registers, and nothing else. */
export { agentThread } from './agent-thread';
export { backgroundCall } from './background-call';
