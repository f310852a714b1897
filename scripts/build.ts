/**
 * Builds what is published: dist/svc.js, with the client commands in the one file main.js of its build and the rest on
 * demand, hub/dist/svc-hub.js with its workers, and the package svc-x402. Version, commit and time of the build are written in. Nothing is
 * done when nothing changed.
 */

import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build, type Plugin } from 'esbuild'
import { readOperationIndex } from '../cli/client/operation-index-source.ts'
import { chosenModules } from './build-modules.ts'
import { fingerprint, install } from './builds.ts'
import { consolePage } from './console-page.ts'
import { guestScript } from './guest-page.ts'
import { operatorPage } from './operator-page.ts'
import { verifyPage } from './verify-page.ts'

const root = new URL('..', import.meta.url)
const at = (path: string) => fileURLToPath(new URL(path, root))
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
  'view',
  'tui',
  'autoreply',
  'protocol',
  'console',
  'view',
  'hub',
  'x402',
  'scripts/build.ts',
  'scripts/verify-page.ts',
  'scripts/console-page.ts',
  'scripts/guest-page.ts',
  'scripts/operator-page.ts',
  'scripts/builds.ts',
  'scripts/build-modules.ts',
]
const modules = chosenModules(process.argv)
const given = `${commit()} ${modules.names.join()}`
const id = fingerprint(at('.'), [...SOURCES, 'package.json', 'package-lock.json'], given)
const builtAt = new Date(Number(process.env['SOURCE_DATE_EPOCH'] ?? Date.now() / 1000) * 1000).toISOString()

const shared: BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  // a source with one character beyond Latin-1 is held in two bytes each for as long as the process lives
  charset: 'ascii',
  legalComments: 'linked',
  minifySyntax: true,
  // half the bytes to read and to hold; names stay and lines are short, for traces
  minifyWhitespace: true,
  lineLimit: 160,
  logLevel: 'warning',
  // `module` is what a bundler takes where nothing else is asked for
  conditions: ['module', ...modules.conditions],
  // its other form cannot be bundled
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  external: ['cbor-extract', 'sodium-native', 'pg-native', 'bufferutil', 'utf-8-validate'],
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
      modules: modules.names,
    }),
  },
}

/** The oldest runtime that the programs run on, as in the two launch.js. */
const NEEDED = { major: 24, minor: 15 }

/** First line of a program's entry file, for any Node: on an older runtime one sentence instead of a stack. */
const runtimeCheck = (name: string): string => {
  const { major, minor } = NEEDED
  const sentence = `${name} needs Node ${major}.${minor} or newer; start it with npx ${name}, which brings its own`
  return `{const[a,b]=process.versions.node.split('.').map(Number);if(a<${major}||(a===${major}&&b<${minor})){process.stderr.write('${name}: this is Node '+process.versions.node+', and ${sentence}\\n');process.exit(1)}}`
}

const hubEntries = {
  'svc-hub': at('hub/cli/program.ts'),
  'store-writer': at('hub/store/sqlite/writer.ts'),
  'verify-worker': at('hub/core/verify-worker.ts'),
  'epoch-worker': at('hub/epochs/worker.ts'),
}
const nodeEntries = {
  whole: at('cli/whole.ts'),
  'pow-worker': at('daemon/hubs/pow-worker.ts'),
  'signature-worker': at('daemon/chain/signature-worker.ts'),
  'backup-worker': at('daemon/archive/backup-worker.ts'),
}

/** What the first file of the command line leaves to others: the program's own two steps, and what no client command needs. */
const CLIENT_PARTS = /\/commands\/(?:node|start|work|board|agents|hook)\.ts$|\/(?:help|parse|version)\.ts$/
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

/**
 * The runtime's modules as their plain objects: importing `node:fs` would also load every part of it that it offers on
 * demand, a tenth of the whole start of a command.
 */
const plainBuiltins: Plugin = {
  name: 'plain-builtins',
  setup(build) {
    // which class it has depends on the runtime
    build.onResolve({ filter: /^node:sqlite$/ }, ({ path }) => ({ path, external: true }))
    build.onResolve({ filter: /^node:/ }, ({ path, kind }) => ({
      path,
      namespace: kind === 'require-call' ? 'required' : 'imported',
      sideEffects: false,
    }))
    build.onLoad({ filter: /./, namespace: 'required' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)})`,
    }))
    // each name on its own, so that only those that are used are looked up
    build.onLoad({ filter: /./, namespace: 'imported' }, ({ path }) => {
      const names = Object.keys(process.getBuiltinModule(path) ?? {}).filter(name => name !== 'default')
      const exported = names.map(name => `export const ${name} = /* @__PURE__ */ (() => whole.${name})()`)
      const whole = `const whole = /* @__PURE__ */ (() => process.getBuiltinModule(${JSON.stringify(path)}))()`
      return { contents: [whole, 'export default whole', ...exported].join('\n') }
    })
  },
}

/**
 * clipanion opens the three streams and asks for the colours of a terminal before it parses a word. It parses here and
 * prints nothing, so the client's file gives it neither.
 */
const withoutStreams: BuildOptions['define'] = {
  'process.stdin': 'undefined',
  'process.stdout': 'undefined',
  'process.stderr': 'undefined',
}
const plainParser: Plugin = {
  name: 'plain-parser',
  setup(build) {
    build.onResolve({ filter: /^\.\.\/platform$/ }, ({ importer }) =>
      importer.includes('/clipanion/')
        ? { path: at('node_modules/clipanion/lib/platform/browser.js') }
        : undefined,
    )
  },
}

/** Ink imports React's debugger for those who debug Ink. */
const withoutDebugger: Plugin = {
  name: 'without-debugger',
  setup(build) {
    build.onResolve({ filter: /^react-devtools-core$/ }, ({ path }) => ({ path, namespace: 'debugger' }))
    build.onLoad({ filter: /./, namespace: 'debugger' }, () => ({ contents: 'export default {}' }))
  },
}

/** The MCP server judges the answers of users itself: the SDK's compiler of JSON Schema has nothing to do there. */
const withoutSchemaCompiler: Plugin = {
  name: 'without-schema-compiler',
  setup(build) {
    build.onResolve({ filter: /^@modelcontextprotocol\/server\/_shims$/ }, ({ path }) => ({
      path,
      namespace: 'schema-compiler',
    }))
    build.onLoad({ filter: /./, namespace: 'schema-compiler' }, () => ({
      contents:
        "export { default as process } from 'node:process'; export class DefaultJsonSchemaValidator {}",
    }))
  },
}

const bundle = (outdir: string, entryPoints: Record<string, string>) =>
  build({
    ...shared,
    entryPoints,
    outdir,
    splitting: true,
    chunkNames: 'part-[hash]',
    plugins: [plainBuiltins, withoutDebugger, withoutSchemaCompiler],
  })
const file = (outfile: string, entry: string, plugins: Plugin[], define: BuildOptions['define'] = {}) =>
  build({
    ...shared,
    define: { ...shared.define, ...define },
    entryPoints: [entry],
    outfile,
    plugins: [plainBuiltins, ...plugins],
  })

// a package holds one build
const only = process.argv.includes('--alone') ? { alone: true } : {}
// another folder than that of the checkout holds the node alone
const elsewhereAt = process.argv.indexOf('--dist')
const dist = elsewhereAt < 0 ? at('dist') : (process.argv[elsewhereAt + 1] ?? at('dist'))
await install({
  ...only,
  dist,
  id,
  entry: 'svc.js',
  async parts(folder) {
    await bundle(folder, nodeEntries)
    await file(
      `${folder}/main.js`,
      at('cli/main.ts'),
      [plainParser, elsewhere('.', CLIENT_PARTS)],
      withoutStreams,
    )
    writeFileSync(`${folder}/verify.html`, await verifyPage(manifest.version))
    writeFileSync(`${folder}/console.html`, await consolePage())
  },
  async start(path, folder) {
    await file(path, at('cli/program.ts'), [elsewhere(`./${folder}`)])
    writeFileSync(path, `${runtimeCheck('svc')}\n${readFileSync(path, 'utf8')}`)
  },
})
if (elsewhereAt < 0) await installOthers()

/** The hub and the package for payments. */
async function installOthers(): Promise<void> {
  await install({
    ...only,
    dist: at('hub/dist'),
    id,
    entry: 'svc-hub.js',
    async parts(folder) {
      await bundle(folder, hubEntries)
      cpSync(at('hub/store/sqlite/migrations'), `${folder}/migrations`, { recursive: true })
      cpSync(at('hub/store/postgres/schema'), `${folder}/schema`, { recursive: true })
      writeFileSync(`${folder}/guest.js`, await guestScript())
      writeFileSync(`${folder}/admin.html`, await operatorPage())
    },
    async start(path, folder) {
      writeFileSync(path, `${runtimeCheck('svc-hub')}\nawait import('./${folder}/svc-hub.js')\n`)
    },
  })
  await install({
    ...only,
    dist: at('x402/dist'),
    id,
    entry: 'index.js',
    async parts(folder) {
      await build({
        ...shared,
        banner: {},
        entryPoints: [at('x402/index.ts')],
        outfile: `${folder}/svc-x402.js`,
      })
    },
    async start(path, folder) {
      writeFileSync(path, `export * from './${folder}/svc-x402.js'\n`)
    },
  })
}
