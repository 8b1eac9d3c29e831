/** What users need to test their agents: a model that says what it is told to, on the wire. */
export * from './model-server';
