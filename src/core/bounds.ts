/**
 * The limits of all data that comes from outside: from models, tools, hooks, people and programs. They are in one table so that they do not
 * contradict each other. `docs/operations.md` lists them for operators.
 *
 * Three limits of the Temporal server are the reason. A payload has at most 2 MiB and a gRPC message at most 4 MB: an activity's result above
 * the first fails as `ServerFailure`; above the second it is never delivered, so the activity times out and is tried again. An update of
 * search attributes above its limits, and an activity's arguments above 2 MiB, end the workflow.
 * `Chars` are UTF-16 code units. `Bytes` are bytes of UTF-8 JSON, with escaped characters counted in their escaped form.
 */
export const bounds = {
  /** Calls of a thread that run in the background at the same time. Its state has an entry for each. */
  backgroundCalls: 100,
  /** What a run keeps to compensate its `saga` calls, and the output of one of them. The state has an entry for each. */
  sagaBytes: 400_000,
  sagaOutputBytes: 4_000,
  /** A result of an activity. Events and queries, which are payloads too, contain it together with other data. */
  resultBytes: 1_500_000,
  /** The state of a closed conversation that is reopened. */
  carriedBytes: 1_900_000,
  /** An answer of the model. Less than half a payload, because the event that ends a run contains its text twice. */
  answerBytes: 800_000,
  /** An agent's facts, which are part of the thread's state. */
  factsBytes: 200_000,
  /** Messages passed inline to a model call whose query failed. Settings, tools and rules are in the same payload. */
  inlineBytes: 800_000,
  /** Images and files in a result, which can't be cut. */
  mediaBytes: 1024 * 1024,
  /** How much JSON of a tool's result is written. The model sees the beginning and the end of it. */
  outputChars: 250_000,
  /** An artifact: an output, an image or a file of a tool that is stored outside the history. It is held in memory to be written or read. */
  artifactBytes: 64_000_000,
  /** Images and files of the store in one request to a model. Base64 makes a third more of it; vendors accept requests of 20 to 50 MB. */
  requestMediaBytes: 14_000_000,
  /** With an artifact store: how much JSON of a tool's result is written, how many of its parts, and how much output of a command is collected. */
  keptJsonChars: 4_000_000,
  keptParts: 10_000,
  collectedBytes: 16_000_000,
  /** Commands of a thread that run in the background of one machine, those that have ended and are kept, and the output of one. */
  threadTasks: 10,
  keptTasks: 20,
  taskLogBytes: 64_000_000,
  /** The output of all of them that is kept on one machine, of all threads. */
  allTaskLogsBytes: 500_000_000,
  /** Text for the input of such a command. */
  taskInputChars: 100_000,
  /** A progress message of a tool. Heartbeats contain it. */
  progressChars: 4_000,
  /** Nesting of objects and lists in data from outside. */
  jsonDepth: 100,
  /** Nesting in any payload, where data from outside is inside other objects. JSON.stringify fails at a few thousand levels. */
  payloadDepth: 1_000,

  /** Entries of folders that one call of `list_dir` reads, and the folders that it reads. */
  listedEntries: 100_000,
  listedFolders: 10_000,

  /** JSON of an OpenAPI service that is indented for the model: its bytes and its values. Parsing it blocks the worker; more is shown as it came. */
  indentedJsonBytes: 4_000_000,
  indentedJsonValues: 100_000,

  /** A page or file that `web_fetch` reads. */
  fetchedBytes: 4_000_000,

  /** One message of an MCP server, and one answer of it over HTTP. */
  mcpMessageBytes: 16_000_000,
  /** The values in it, objects and lists included. Parsing a message of many small values blocks the worker for seconds. */
  mcpMessageValues: 100_000,
  /** Those outside of schemas and structured content. The SDK checks each of them, and describes each that is wrong. */
  mcpCheckedValues: 10_000,
  /** Messages and other lines of an MCP server within ten seconds, and answers to its requests that it has not taken yet. */
  mcpMessages: 10_000,
  mcpOpenAnswers: 100,
  /** Tools of one MCP server that are offered, and pages of its list that are read. */
  mcpTools: 250,
  /** Users of a server whose connections one worker keeps open. */
  mcpUsers: 100,
  mcpListPages: 100,
  /** The description of such a tool, and the JSON Schema of its arguments. */
  mcpDescriptionChars: 4_000,
  mcpSchemaChars: 64_000,
  /** Sets of characters by property (`\p{L}`) in the patterns of a tool whose author is not trusted. */
  patternSets: 50,
  /** The descriptions and schemas of all its tools, which are in each request to a model. */
  mcpToolsChars: 200_000,

  /** Connections to one MCP server that asks questions: each has one call at a time. */
  mcpConnections: 10,

  /** Questions that one call may ask people, the message and the form of one, and the address that a person is to visit. */
  callQuestions: 20,
  /** Answers of a call that its server leaves unused, because it asks in other words in each attempt. */
  callUnusedAnswers: 5,
  questionChars: 2_000,
  questionSchemaChars: 8_000,
  questionUrlChars: 2_000,
  /** The answer to such a question, and all answers of one call, which are in each request to run it again. */
  answerContentBytes: 16_000,
  callAnswersBytes: 64_000,

  /** Tools that one search loads, and the length of their descriptions and schemas; those of all tools that a thread has loaded. */
  foundTools: 10,
  foundToolsChars: 40_000,
  loadedTools: 100,
  loadedToolsChars: 120_000,

  /** Parts of a failure. */
  failureMessageChars: 4_000,
  failureTypeChars: 200,
  failureStackChars: 8_000,
  failureDetailsBytes: 100_000,
  failureCauses: 20,
  /** The message of one failed attempt at a model call. The step's event contains all of them. */
  attemptMessageChars: 1_000,

  /** A provider's response to one call: its total size and the number of its events. They are read and not kept. */
  streamBytes: 128_000_000,
  streamEvents: 500_000,
  /** One event or line of the stream: room for a whole answer with JSON escapes. */
  eventChars: 2_000_000,
  /** A list in an event: choices, parts of a text, fragments of calls. Other work of the process runs only between events. */
  eventItems: 1_000,
  /** How much of a response that is not an event stream is read. */
  preambleBytes: 4_000_000,
  /** How much of an error's body is read. */
  errorBodyBytes: 64_000,
  /** A model's reasoning: how much is read and shown, and how much is kept in the answer if the provider does not need all of it. */
  reasoningChars: 4_000_000,
  keptReasoningChars: 50_000,
  /** Parts of one answer. */
  answerParts: 2_000,
  /** The data that a provider requires back with the answer (`opaque`), as JSON. */
  opaqueChars: 400_000,

  /** Ids that models and providers choose; longer ones are replaced. */
  callIdChars: 200,
  /** Tool calls in one answer. */
  callsPerAnswer: 128,
  /** A token count that a provider reports. Larger numbers are ignored as invalid. */
  tokens: 1_000_000_000,
  /** The name of a tool that the model calls; no tool's name is longer than 64. */
  callNameChars: 200,
  /** US dollars that one answer can cost. Larger numbers are ignored as invalid. */
  answerUsd: 1_000_000,

  /** A thread id that the caller chooses. A server accepts 1,000 bytes. */
  threadIdChars: 300,
  /** A name of an agent, a model, a user or a group. */
  nameChars: 200,
  /** The reason in a request. */
  wordsChars: 4_000,
  /** Any request to a thread: the number of its values, objects and lists included, and the characters of its texts and keys. */
  requestValues: 250_000,
  requestChars: 2_000_000,
  /** A message from a client. */
  messageBytes: 1_500_000,
  /**
   * The results of one answer's calls, before a person or a program submits or settles another one, and all arguments that people edit for it. The
   * thread can't continue as new before these calls are done. Up to `smallResultBytes` are always accepted, so that a run can end.
   */
  answerResultsBytes: 6_000_000,
  answerEditsBytes: 3_000_000,
  smallResultBytes: 4_000,
  /** Queued messages. Continue-as-new passes them on, and one event contains all that begin a run. */
  queue: 100,
  queueBytes: 1_600_000,
  /** Of these, messages that wait for the end of the run. A thread with more could not continue as new meanwhile. */
  queueAfterRunBytes: 800_000,
  /** Edited arguments. In an activity's input they are JSON within JSON, which at worst doubles their size. */
  editedBytes: 500_000,
  /** Arguments as a tool takes them, which people are shown. They are recorded in addition to the model's own. */
  shownArgumentsChars: 200_000,
  /** A shell command that permissions analyze. The analysis blocks the worker's thread. */
  commandChars: 10_000,
  commandParts: 200,
  /** Paths that are resolved to analyze one command, and folder entries that its patterns are matched against. */
  commandPaths: 500,
  commandEntries: 5_000,
  /** Names in the paths of folders and links that are resolved for one command, or in all paths of one call that edits files. */
  commandNames: 1_000,
  /** The total text of a command's brace expansions, and of the commands nested in it. */
  commandBraceChars: 20_000,
  commandNestedChars: 40_000,
  /** A signature of a decision. Enough for every algorithm in use. */
  signatureChars: 8_000,
  /** A signed request, with the call that it is about. The worker's verifier receives both, as the arguments of an activity. */
  attestedBytes: 1_900_000,
  /** Groups of a decider. */
  groups: 100,
  /** The policy by which people are asked about one call. */
  askBytes: 8_000,
  /** A remembered rule; a thread has at most `rules` of them, with their signed decisions in `rulesBytes`. Each request to run a tool has them. */
  ruleBytes: 1_000,
  rules: 200,
  rulesBytes: 300_000,
  /** The input of hooks. A server ends the workflow if an activity's arguments have more than 2 MiB. */
  hookInputBytes: 1_900_000,
  /** Models, and tools, that a thread's metrics count separately. */
  countedNames: 500,
  correlationIdChars: 1_000,
  /** The metadata of a suspension. */
  metadataBytes: 8_192,
  /** Settings and tools in a request. Continue-as-new passes them on twice, as state and as input. */
  settingsBytes: 100_000,
  toolsBytes: 100_000,
  /** Ten years: the maximum of a deadline, a suspension and an idle timeout. */
  longestMs: 10 * 365 * 24 * 3_600_000,

  /** A search attribute of type Keyword. SQL databases store 255 characters. */
  keywordChars: 200,
  /** A search attribute of type KeywordList. A server accepts 2,048 bytes. */
  keywordListBytes: 1_900,
  /** The summary line of a step or a workflow in the Web UI. A server accepts 400 bytes. */
  summaryBytes: 300,
  /** The details page of a workflow in the Web UI. A server accepts 20,000 bytes. */
  detailsBytes: 15_000,
} as const;
