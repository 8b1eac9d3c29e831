# A Longhaul worker. Build it with `docker build -t longhaul-worker .`

FROM node:20.20.2-bookworm-slim AS source
WORKDIR /app
COPY package.json package-lock.json .npmrc ./

FROM source AS build
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/bundle-workflows.js scripts/compile-unbash.js ./scripts/
COPY src ./src
RUN npm run build

FROM source AS production
RUN npm ci --omit=dev --ignore-scripts
# Temporal's native library ships for five platforms at 29 MB each; this image needs one.
RUN node -e "const fs = require('fs'), dir = 'node_modules/@temporalio/core-bridge/releases/', \
  mine = { x64: 'x86_64', arm64: 'aarch64' }[process.arch] + '-unknown-linux-gnu', all = fs.readdirSync(dir); \
  if (!all.includes(mine)) throw new Error('no ' + mine + ' among ' + all); \
  for (const name of all) if (name !== mine) fs.rmSync(dir + name, { recursive: true })"

FROM node:20.20.2-bookworm-slim
# ca-certificates for TLS to Temporal, because the SDK does not use Node's own certificates; git for agents.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production LONGHAUL_WORKSPACE=/workspace LONGHAUL_ARTIFACTS=/outputs
WORKDIR /app
COPY package.json ./
COPY --from=production /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY deploy/worker-health.js ./deploy/
RUN mkdir /workspace /outputs && chown node:node /workspace /outputs
USER node
VOLUME /workspace /outputs
# Not through npm, which does not forward SIGTERM.
CMD ["node", "dist/worker.js"]
