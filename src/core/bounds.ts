/**
 * The limits of everything that comes from outside: from models, tools, hooks, people and programs. One table, so that none of them
 * contradict each other; `docs/operations.md` lists them for operators.
 *
 * Three limits of the Temporal server are behind them. A payload has at most 2 MiB and a gRPC message 4 MB: an activity's result above
 * the first fails as `ServerFailure`, above the second it is never delivered, so the activity times out and is tried again. An update of
 * search attributes above its limits, and an activity's arguments above 2 MiB, end the workflow.
 * `Chars` are UTF-16 code units, `Bytes` are bytes of UTF-8 JSON: a character that JSON escapes counts as it is written.
 */
export const bounds = {
  /** A result of an activity. It stands beside other data in events and queries, which are payloads too. */
  resultBytes: 1_500_000,
  /** An answer of the model. Half a payload: the event that ends a run has its words twice. */
  answerBytes: 800_000,
  /** What a run needs to know of its agent; it is part of the thread's state. */
  factsBytes: 200_000,
  /** Messages that are passed to a model call with its arguments, where it could not ask for them; settings, tools and rules go with them. */
  inlineBytes: 800_000,
  /** JSON of what a tool returned: how much of it is written. The model sees the beginning and the end of that. */
  outputChars: 250_000,
  /** What a tool says of its progress. Heartbeats carry it. */
  progressChars: 4_000,
  /** How deep objects and lists may be nested in what comes from outside. */
  jsonDepth: 100,
  /** And in any payload: what comes from outside is passed on inside of other objects. JSON.stringify fails at some thousand. */
  payloadDepth: 1_000,

  /** Of a failure. */
  failureMessageChars: 4_000,
  failureTypeChars: 200,
  failureStackChars: 8_000,
  failureDetailsBytes: 100_000,
  failureCauses: 20,
  /** Of one failed attempt at a model call; the step's event has them all. */
  attemptMessageChars: 1_000,

  /** What a provider sends in answer to one call: all of it, and the events in it. They are read and forgotten. */
  streamBytes: 128_000_000,
  streamEvents: 500_000,
  /** One event of the stream, and one line of it: room for a whole answer, with what JSON escapes in it. */
  eventChars: 2_000_000,
  /** What is not an event stream: how much of it is looked at. */
  preambleBytes: 4_000_000,
  /** What is read of the body of an error. */
  errorBodyBytes: 64_000,
  /** What a model thinks aloud. It is shown and not kept. */
  reasoningChars: 4_000_000,
  /** What a provider wants to see again with the answer, as JSON. */
  opaqueChars: 400_000,

  /** Ids that models and providers choose; longer ones are replaced. */
  callIdChars: 200,
  /** Tool calls of one answer. */
  callsPerAnswer: 128,
  /** A count of tokens that a provider reports; what is above is no count. */
  tokens: 1_000_000_000,
  /** The name of a tool that the model calls; no tool's name is longer than 64. */
  callNameChars: 200,
  /** US dollars that a single answer can cost; what is above is no price. */
  answerUsd: 1_000_000,

  /** The id of a thread, where the caller chooses it: a server takes 1,000 bytes. */
  threadIdChars: 300,
  /** A name: of an agent, a model, a user, a group. */
  nameChars: 200,
  /** What someone says with a request: a reason. */
  wordsChars: 4_000,
  /** A message of a person or a program. */
  messageBytes: 1_500_000,
  /** Messages that wait to be taken in. They cross continue-as-new, and begin a run in one event. */
  queue: 100,
  queueBytes: 1_600_000,
  /** Arguments in the place of the model's; in an activity's input they are JSON within JSON, which at worst doubles them. */
  editedBytes: 500_000,
  /** Arguments as a tool takes them, where somebody is asked about them. They stand beside the model's own in its answer. */
  shownArgumentsChars: 200_000,
  /** A shell command that is judged by its words; the worker does nothing else meanwhile. */
  commandChars: 10_000,
  commandParts: 200,
  /** Paths that are followed to judge one, and entries of folders that its patterns are held against. */
  commandPaths: 500,
  commandEntries: 5_000,
  /** Names in the paths of folders and links that are followed for one command, or in all paths of one call that edits files. */
  commandNames: 1_000,
  /** What its braces stand for, and what commands within it are looked at: all of their text together. */
  commandBraceChars: 20_000,
  commandNestedChars: 40_000,
  /** A signature of a decision: room for every algorithm in use. */
  signatureChars: 8_000,
  /** Groups that a decider is in. */
  groups: 100,
  /** How people are asked about one call: who, why, until when. */
  askBytes: 8_000,
  /** A rule that allows calls from now on; a thread has at most `rules`. */
  ruleBytes: 1_000,
  rules: 200,
  /** Models, and tools, that are counted each by itself in the usage of a thread. */
  countedNames: 500,
  correlationIdChars: 1_000,
  /** For whoever replies to a suspended run. */
  metadataBytes: 8_192,
  /** Settings and tools that come with a request. They are handed to the next execution twice, as state and as input. */
  settingsBytes: 100_000,
  toolsBytes: 100_000,
  /** Ten years: of a deadline, of a suspension, of the wait for the next message. */
  longestMs: 10 * 365 * 24 * 3_600_000,

  /** A search attribute of type Keyword: SQL databases hold 255 characters. */
  keywordChars: 200,
  /** A search attribute of type KeywordList; a server takes 2,048 bytes. */
  keywordListBytes: 1_900,
  /** The line that the Web UI shows of a step or a workflow; a server takes 400 bytes. */
  summaryBytes: 300,
  /** The page that it shows of a workflow; a server takes 20,000. */
  detailsBytes: 15_000,
} as const;
