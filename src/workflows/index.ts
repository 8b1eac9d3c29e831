/** The workflows that the worker registers, and nothing else. */
export { agentThread } from './agent-thread';
