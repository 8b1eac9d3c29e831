/** For the default of an exhaustive `switch`: a new kind does not compile until it is handled. Throws if it is called anyway. */
export function unreachable(value: never): never {
  throw new Error(`The engine does not know how to handle ${JSON.stringify(value)}. This is a defect of the engine.`);
}
