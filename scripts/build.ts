/**
 * Builds the two programs: dist/svc.js, with the client commands in the one file main.js of its build and the rest on
 * demand, and hub/dist/svc-hub.js with its workers. Version, commit and time of the build are written in. Nothing is
 * done when nothing changed.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { type BuildOptions, build, type Plugin } from 'esbuild'
import { readOperationIndex } from '../cli/client/operation-index-source.ts'
import { fingerprint, install } from './builds.ts'

const root = new URL('..', import.meta.url)
const at = (path: string) => new URL(path, root).pathname
const manifest = JSON.parse(readFileSync(at('package.json'), 'utf8')) as { version: string }

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      cwd: at('.'),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return 'unknown'
  }
}

const SOURCES = [
  'cli',
  'daemon',
  'mcp',
  'autoreply',
  'protocol',
  'hub',
  'scripts/build.ts',
  'scripts/builds.ts',
]
const id = fingerprint(at('.'), [...SOURCES, 'package.json', 'package-lock.json'], commit())
const builtAt = new Date(Number(process.env['SOURCE_DATE_EPOCH'] ?? Date.now() / 1000) * 1000).toISOString()

const shared: BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  charset: 'utf8',
  legalComments: 'linked',
  minifySyntax: true,
  logLevel: 'warning',
  // its other form cannot be bundled
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  external: ['cbor-extract', 'sodium-native', 'react-devtools-core', 'bufferutil', 'utf-8-validate'],
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  define: {
    'process.env.NODE_ENV': '"production"',
    'globalThis.SVC_OPERATIONS': JSON.stringify(readOperationIndex()),
    'globalThis.SVC_BUILD': JSON.stringify({
      version: manifest.version,
      commit: commit(),
      builtAt,
      build: id,
    }),
  },
}

const hubEntries = {
  'svc-hub': at('hub/cli/program.ts'),
  'store-writer': at('hub/store/sqlite/writer.ts'),
  'verify-worker': at('hub/core/verify-worker.ts'),
}
const nodeEntries = {
  whole: at('cli/whole.ts'),
  'pow-worker': at('daemon/hubs/pow-worker.ts'),
  'signature-worker': at('daemon/chain/signature-worker.ts'),
}

/** What the first file of the command line leaves to others: the program's own two steps, and what no client command needs. */
const CLIENT_PARTS = /\/commands\/(?:node|work|agents)\.ts$|\/(?:help|version)\.ts$/
/** Leaves dynamic imports that `stays` does not name to files of `folder`. */
const elsewhere = (folder: string, stays?: RegExp): Plugin => ({
  name: 'elsewhere',
  setup(build) {
    build.onResolve({ filter: /\.ts$/ }, ({ kind, path }) => {
      if (kind !== 'dynamic-import' || stays?.test(path)) return undefined
      return { path: path.replace(/^\./, folder).replace(/\.ts$/, '.js'), external: true }
    })
  },
})

const bundle = (outdir: string, entryPoints: Record<string, string>) =>
  build({ ...shared, entryPoints, outdir, splitting: true, chunkNames: 'part-[hash]' })
const file = (outfile: string, entry: string, plugin: Plugin) =>
  build({ ...shared, entryPoints: [entry], outfile, plugins: [plugin] })

// a package holds one build
const only = process.argv.includes('--alone') ? { keep: 1 } : {}
await install({
  ...only,
  dist: at('dist'),
  id,
  entry: 'svc.js',
  async parts(folder) {
    await bundle(folder, nodeEntries)
    await file(`${folder}/main.js`, at('cli/main.ts'), elsewhere('.', CLIENT_PARTS))
  },
  async start(path, folder) {
    await file(path, at('cli/program.ts'), elsewhere(`./${folder}`))
  },
})
await install({
  ...only,
  dist: at('hub/dist'),
  id,
  entry: 'svc-hub.js',
  async parts(folder) {
    await bundle(folder, hubEntries)
    cpSync(at('hub/store/migrations'), `${folder}/migrations`, { recursive: true })
  },
  async start(path, folder) {
    writeFileSync(path, `// Starts the current build.\nimport './${folder}/svc-hub.js'\n`)
  },
})
