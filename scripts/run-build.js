// Runs scripts/build.ts on a runtime that is new enough. Plain JavaScript for any Node from 18 on, because npm calls it
// with whichever Node is there, also where it was told to run no scripts of packages (npm ci --ignore-scripts).
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { newEnough, pinnedRuntime } from '../bin/launch.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const program = fileURLToPath(new URL('build.ts', import.meta.url))
const require = createRequire(import.meta.url)

function isInstalled(name) {
  try {
    return require.resolve(`${name}/package.json`) !== ''
  } catch {
    return false
  }
}

function fail(sentence) {
  process.stderr.write(`svc: ${sentence}\n`)
  process.exit(1)
}

/** The running Node, else the pinned one, whose own script may not have been run yet. */
function runtime() {
  if (newEnough(process.versions.node)) return process.execPath
  const found = pinnedRuntime(program)
  if (found !== undefined) return found
  spawnSync('npm', ['rebuild', 'node', '--no-audit', '--no-fund'], { cwd: root, stdio: 'ignore' })
  return pinnedRuntime(program)
}

if (!isInstalled('esbuild') || !isInstalled('node'))
  fail('what builds the programs is missing, as npm ci --omit=dev leaves it out; run npm ci')
const node = runtime()
if (node === undefined)
  fail('the runtime that builds the programs could not be fetched; run npm ci where npm reaches its registry')
const { status } = spawnSync(node, [program, ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' })
process.exitCode = status ?? 1
