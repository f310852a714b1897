/** The thread that ends its process when a test file takes too long. */
import { spawn } from 'node:child_process'
import { appendFileSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'

const { names, limitMs } = workerData as { names: Uint8Array; limitMs: number }
const STDERR = 2
const COMMAND_LENGTH = 300

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // that process has ended
  }
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** All processes below one. */
function below(pid: number): number[] {
  const children = threadsOf(pid).flatMap(id => textOf(`/proc/${pid}/task/${id}/children`).split(' '))
  return children.filter(Boolean).flatMap(child => [Number(child), ...below(Number(child))])
}

const describe = (pid: number): string =>
  `  ${pid} ${textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').slice(0, COMMAND_LENGTH)}`

function say(text: string): void {
  writeSync(STDERR, text)
  const file = process.env['SVC_ENDED_FILES']
  if (file !== undefined) appendFileSync(file, text)
}

function end(): void {
  const running = below(process.pid)
  const name = new TextDecoder().decode(names).replaceAll('\0', '')
  const beside =
    running.length === 0 ? 'it has no processes' : `its processes:\n${running.map(describe).join('\n')}`
  say(`did not end in ${limitMs / 60_000} minutes: ${name}\n${beside}\n`)
  // a test that waits for one of them would go on if that ended first, and pass
  const endThem = ['-c', 'sleep 1; kill -KILL "$@"', 'sh', ...running.map(String)]
  spawn('/bin/sh', endThem, { detached: true, stdio: 'ignore' }).unref()
  process.kill(process.pid, 'SIGKILL')
}

let timer = setTimeout(end, limitMs)
parentPort?.on('message', () => {
  clearTimeout(timer)
  timer = setTimeout(end, limitMs)
})
