/**
 * Writes src/models/catalog/model-data.json from LiteLLM's list of models, which its package and its repository contain as
 * `model_prices_and_context_window.json` (in the package with the suffix `_backup`):
 *
 *     node scripts/model-data.js FILE VERSION
 */
const { readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

/** LiteLLM's providers that Longhaul reaches, by itself or through the AI SDK, and the names they have here. The first entry of a model counts. */
const providers = {
  openai: 'openai',
  anthropic: 'anthropic',
  gemini: 'google',
  azure: 'azure',
  azure_ai: 'azure',
  bedrock: 'bedrock',
  bedrock_converse: 'bedrock',
  'vertex_ai-language-models': 'vertex',
  'vertex_ai-anthropic_models': 'vertex',
  'vertex_ai-mistral_models': 'vertex',
  'vertex_ai-llama_models': 'vertex',
  'vertex_ai-deepseek_models': 'vertex',
  'vertex_ai-qwen_models': 'vertex',
  vertex_ai: 'vertex',
  mistral: 'mistral',
  xai: 'xai',
  groq: 'groq',
  deepseek: 'deepseek',
  cohere_chat: 'cohere',
  fireworks_ai: 'fireworks',
  together_ai: 'together',
  deepinfra: 'deepinfra',
  perplexity: 'perplexity',
  cerebras: 'cerebras',
  moonshot: 'moonshotai',
  dashscope: 'alibaba',
  minimax: 'minimax',
  zai: 'zai',
  baseten: 'baseten',
  sambanova: 'sambanova',
  vercel_ai_gateway: 'gateway',
};

const capabilities = {
  images: 'supports_vision',
  pdf: 'supports_pdf_input',
  tools: 'supports_function_calling',
  structuredOutput: 'supports_response_schema',
  reasoning: 'supports_reasoning',
  promptCaching: 'supports_prompt_caching',
};

/** LiteLLM's license, which its copies must contain. */
const license = `MIT License. Copyright (c) 2023 Berri AI. Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions: The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

const modes = ['chat', 'responses', 'completion'];

/** Prices differ by region and image size, what a model can do does not. */
const variants =
  /^(?:bedrock|azure|azure_ai)\/(?:[a-z]{2}|apac|global|us-gov|[a-z]{2}(?:-gov)?-[a-z]+-\d)\/|^(?:us|eu|apac|jp|au|ca|sa|me|af|global|us-gov)\./;

function main([file, version, target = join(__dirname, '../src/models/catalog/model-data.json')]) {
  if (!file || !version) {
    console.error(
      'Usage: node scripts/model-data.js FILE VERSION [TARGET]\nFILE is the list of models of LiteLLM, VERSION the version of LiteLLM.',
    );
    process.exit(2);
  }
  const groups = new Map(Object.values(providers).map((name) => [name, new Map()]));
  const seen = new Set();
  for (const [name, facts] of ordered(JSON.parse(readFileSync(file, 'utf8')))) {
    const provider = providers[facts.litellm_provider];
    const model = modelName(name, facts.litellm_provider);
    const known = knownOf(facts);
    if (!known || seen.has(`${provider}/${model}`)) continue;
    seen.add(`${provider}/${model}`);
    const group = groups.get(provider);
    const key = JSON.stringify(known);
    group.set(key, [...(group.get(key) ?? []), model]);
  }
  writeFileSync(target, textOf(version, groups));
  console.log(`${seen.size} models in ${target}`);
}

/** The models that can be called for text, by the order of `providers`, without those of single regions. */
function ordered(list) {
  const order = Object.keys(providers);
  const rank = ([, { litellm_provider }]) => order.indexOf(litellm_provider);
  return Object.entries(list)
    .filter(([name, { litellm_provider, mode }]) => litellm_provider in providers && modes.includes(mode) && !variants.test(name))
    .sort((a, b) => rank(a) - rank(b) || (a[0] < b[0] ? -1 : 1));
}

/** The name that the provider itself uses. */
function modelName(name, provider) {
  const prefix = `${provider.startsWith('vertex_ai') ? 'vertex_ai' : provider.replace('bedrock_converse', 'bedrock').replace('cohere_chat', 'cohere')}/`;
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

function knownOf({ max_input_tokens: input, max_output_tokens: output, ...facts }) {
  const told = (value) => Object.keys(capabilities).filter((name) => facts[capabilities[name]] === value);
  const [can, cannot] = [told(true), told(false)];
  const known = {
    ...(isCount(input) && { input }),
    ...(isCount(output) && { output }),
    ...(can.length > 0 && { can: can.join(' ') }),
    ...(cannot.length > 0 && { cannot: cannot.join(' ') }),
  };
  return Object.keys(known).length > 0 ? known : undefined;
}

function isCount(value) {
  return Number.isInteger(value) && value > 0;
}

/** One line for each group of models of a provider of which the same is known, so that the next version can be compared. */
function textOf(version, groups) {
  const about =
    'What is known of models: the most tokens of a request (input) and of an answer (output), and what they can and cannot do. Written by scripts/model-data.js from the list of LiteLLM.';
  const lists = [...groups].map(([provider, group]) => {
    const lines = [...group].map(([key, models]) => `      ${JSON.stringify({ ...JSON.parse(key), models })}`);
    return `    ${JSON.stringify(provider)}: [\n${lines.join(',\n')}\n    ]`;
  });
  return `{\n  "about": ${JSON.stringify(about)},\n  "source": ${JSON.stringify(`LiteLLM ${version}`)},\n  "license": ${JSON.stringify(license)},\n  "providers": {\n${lists.join(',\n')}\n  }\n}\n`;
}

main(process.argv.slice(2));
