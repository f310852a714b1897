/**
 * Builds the two programs: dist/svc.js with the client commands in the one file main.js and the rest on demand, and hub/dist/svc-hub.js with the store worker
 * beside it. Version, commit and time of the build are written in.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync } from 'node:fs'
import { type BuildOptions, build, type Plugin } from 'esbuild'
import { readOperationIndex } from '../cli/client/operation-index-source.ts'

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
  external: ['cbor-extract', 'sodium-native', 'react-devtools-core', 'bufferutil', 'utf-8-validate'],
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  define: {
    'process.env.NODE_ENV': '"production"',
    'globalThis.SVC_OPERATIONS': JSON.stringify(readOperationIndex()),
    'globalThis.SVC_BUILD': JSON.stringify({ version: manifest.version, commit: commit(), builtAt }),
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
const elsewhere: Plugin = {
  name: 'elsewhere',
  setup(build) {
    build.onResolve({ filter: /\.ts$/ }, ({ kind, path }) => {
      if (kind !== 'dynamic-import' || CLIENT_PARTS.test(path)) return undefined
      return { path: path.replace(/\.ts$/, '.js'), external: true }
    })
  },
}

async function program(outdir: string, entries: Record<string, string>, migrations?: string): Promise<void> {
  rmSync(outdir, { recursive: true, force: true })
  await build({ ...shared, entryPoints: entries, outdir, splitting: true, chunkNames: 'part-[hash]' })
  if (migrations !== undefined) cpSync(migrations, `${outdir}/migrations`, { recursive: true })
}

await program(at('dist'), nodeEntries)
const client = { svc: at('cli/program.ts'), main: at('cli/main.ts') }
await build({ ...shared, entryPoints: client, outdir: at('dist'), plugins: [elsewhere] })
await program(at('hub/dist'), hubEntries, at('hub/store/migrations'))
