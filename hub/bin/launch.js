// Starts a built program on a runtime that is new enough. Plain JavaScript for any Node from 18 on: where the running
// Node will do, the program goes on in this process; else the pinned runtime beside it takes over, with the same
// arguments, streams, signals and exit code.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// The runtime would open a port for a debugger, also before the program is loaded.
process.on('SIGUSR1', () => undefined)

const NEEDED = [24, 15]

export function newEnough(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])
}

/** The runtime that npm installed beside a program. */
export function pinnedRuntime(program) {
  try {
    const manifest = createRequire(program).resolve('node/package.json')
    const binary = join(dirname(manifest), 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
    return existsSync(binary) ? binary : undefined
  } catch {
    return undefined
  }
}

function fail(name, sentence) {
  process.stderr.write(`${name}: ${sentence}\n`)
  process.exit(1)
}

function handOver(name, runtime, program) {
  const child = spawn(runtime, [program, ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2', 'SIGCONT', 'SIGWINCH']) {
    process.on(signal, () => child.kill(signal))
  }
  child.on('error', error =>
    fail(name, `the runtime ${runtime} does not start: ${error.message}; run npm ci again.`),
  )
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
    setTimeout(() => process.exit(128 + (constants.signals[signal] ?? 0)), 100)
  })
}

/** Runs the built program at `url` in this process or on the pinned runtime. */
export async function start(url) {
  const program = fileURLToPath(url)
  const name = program.endsWith('svc-hub.js') ? 'svc-hub' : 'svc'
  if (!existsSync(program)) {
    fail(name, `the program is not built; run npm run build in the checkout (missing ${program}).`)
  }
  if (newEnough(process.versions.node)) {
    process.argv[1] = program
    await import(url.href)
    return
  }
  const runtime = pinnedRuntime(program)
  if (runtime === undefined) {
    fail(
      name,
      `Node ${process.versions.node} is too old and no newer runtime is installed beside it; in a checkout run npm ci without --ignore-scripts and --omit, elsewhere install Node ${NEEDED.join('.')} or newer.`,
    )
  }
  handOver(name, runtime, program)
}
