/** One run of a program: text in, text out, in a process group that is killed as a whole, with capped output. */
import { isUtf8 } from 'node:buffer'
import { spawn } from 'node:child_process'
import { wordsOf } from '../protocol/encoding/errors.ts'
import { BackendFailed } from './backend.ts'
import { complaintOf } from './complaint.ts'

export const OUTPUT_BYTES_MAX = 1024 * 1024
const STDERR_BYTES_MAX = 16 * 1024
const KILL_AFTER_MS = 5_000
const DRAIN_MS = 500

export type Run = {
  /** What failures call it. */
  name: string
  cwd: string
  env: Record<string, string>
  stdin: string
  signal: AbortSignal
}

/** Runs one program to its end and returns what it printed; every other end is a {@link BackendFailed}. */
export function runProgram(words: readonly string[], given: Run): Promise<string> {
  const [program, ...args] = words
  if (program === undefined) throw new BackendFailed('the command is empty')
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: given.cwd,
      env: given.env,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const stdout: Buffer[] = []
    let stderr = Buffer.alloc(0)
    let printed = 0
    let failure: string | undefined
    let hardKill: NodeJS.Timeout | undefined
    let drained: NodeJS.Timeout | undefined
    const kill = (why: string) => {
      failure ??= why
      killGroup(child.pid, 'SIGTERM')
      hardKill ??= setTimeout(() => killGroup(child.pid, 'SIGKILL'), KILL_AFTER_MS)
    }
    const onAbort = () => kill('it took too long and was ended')
    if (given.signal.aborted) onAbort()
    given.signal.addEventListener('abort', onAbort, { once: true })
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.length
      if (printed > OUTPUT_BYTES_MAX) kill(`it printed more than ${OUTPUT_BYTES_MAX} bytes`)
      else stdout.push(chunk)
    })
    child.stderr.on('data', (chunk: Buffer) => {
      // why it fails stands at the end
      stderr = Buffer.concat([stderr, chunk]).subarray(-STDERR_BYTES_MAX)
    })
    child.stdin.on('error', () => {})
    child.stdin.end(given.stdin)
    child.on('error', error => {
      given.signal.removeEventListener('abort', onAbort)
      reject(new BackendFailed(`${given.name} does not start: ${wordsOf(error)}`))
    })
    // a process that left the group may hold the pipes open for ever; the answer does not wait for it
    child.on('exit', () => {
      killGroup(child.pid, 'SIGKILL')
      drained = setTimeout(() => {
        child.stdout.destroy()
        child.stderr.destroy()
      }, DRAIN_MS)
    })
    child.on('close', code => {
      clearTimeout(hardKill)
      clearTimeout(drained)
      given.signal.removeEventListener('abort', onAbort)
      const tail = complaintOf(stderr, Buffer.concat(stdout))
      if (failure !== undefined) reject(new BackendFailed(`${given.name}: ${failure}`))
      else if (code !== 0)
        reject(
          new BackendFailed(
            `${given.name} ended with ${code ?? 'a signal'}${tail === '' ? '' : `: ${tail}`}`,
          ),
        )
      else if (!isText(Buffer.concat(stdout)))
        reject(new BackendFailed(`${given.name} printed something that is not text`))
      else resolve(Buffer.concat(stdout).toString('utf8'))
    })
  })
}

/** Text in UTF-8, as far as that can be told: nothing else is an answer. */
const isText = (bytes: Buffer): boolean => isUtf8(bytes) && !bytes.includes(0)

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // the group is gone
  }
}
