/** What the worker registers, and nothing else. */
export { agentThread } from './agent-thread';
