// @ts-check
'use strict';

// Reads docker-compose.yml as `docker compose` would, as far as this file needs it, for the native stack and its tests.

const fs = require('node:fs');
const path = require('node:path');
const { parse } = require('yaml');

const root = path.resolve(__dirname, '../..');
const composeFile = path.join(root, 'docker-compose.yml');

/** Every `${NAME…}` in a text. @param {string} text @returns {{ name: string, fallback: string | undefined }[]} */
function variables(text) {
  return [...text.matchAll(/\$\{(\w+)(?::?-([^}]*))?\}/g)].map(([, name = '', fallback]) => ({ name, fallback }));
}

/** @param {string} text @param {Record<string, string | undefined>} env */
function interpolate(text, env) {
  return text.replaceAll(/\$\{(\w+)(?::?-([^}]*))?\}/g, (_, name, fallback) => env[name] || (fallback ?? ''));
}

/**
 * The parsed file, with its variables replaced. As in Docker, a variable without a value and without a default becomes an empty string.
 * @param {Record<string, string | undefined>} [env]
 */
function readCompose(env = {}) {
  /** @param {any} node @returns {any} */
  const fill = (node) => {
    if (typeof node === 'string') return interpolate(node, env);
    if (Array.isArray(node)) return node.map(fill);
    if (node && typeof node === 'object') return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, fill(value)]));
    return node;
  };
  return fill(parse(fs.readFileSync(composeFile, 'utf8')));
}

/** @param {string} service @returns {string} the tag of its image */
function imageVersion(service) {
  return readCompose().services[service].image.split(':')[1];
}

module.exports = { root, composeFile, variables, readCompose, imageVersion };
