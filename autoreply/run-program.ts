/** One run of a program: text in, text out, in a process group that is killed as a whole, with capped output. */
import { isUtf8 } from 'node:buffer'
import { spawn } from 'node:child_process'
import { wordsOf } from '../protocol/encoding/errors.ts'
import { BackendFailed, NotStarted } from './backend.ts'
import { complaintOf } from './complaint.ts'
import { descendantsOf } from './descendants.ts'

export const OUTPUT_BYTES_MAX = 1024 * 1024
const STDERR_BYTES_MAX = 16 * 1024
const KILL_AFTER_MS = 5_000
const DRAIN_MS = 500
/** With which shells end when a program is not there. */
const NOT_FOUND = 127
/** What bubblewrap says of it. */
const UNFOUND = /^bwrap: execvp .*: No such file/m

export type Run = {
  /** What failures call it. */
  name: string
  cwd: string
  env: Record<string, string>
  stdin: string
  signal: AbortSignal
  /** The first word is bubblewrap, which holds what it runs. */
  isHeld?: boolean
  /** What may help where the program, or what it starts, is not found. */
  whereToFind?: string | undefined
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
      if (hardKill !== undefined) return
      failure = why
      askToEnd(child.pid, given.isHeld === true)
      hardKill = setTimeout(() => killGroup(child.pid, 'SIGKILL'), KILL_AFTER_MS)
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
      reject(new NotStarted(`${given.name} does not start: ${wordsOf(error)}`))
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
      const out = Buffer.concat(stdout)
      const fault = faultOf(code, { stderr, stdout: out }, given)
      if (failure !== undefined) reject(new BackendFailed(`${given.name}: ${failure}`))
      else if (fault !== undefined) reject(fault)
      else resolve(out.toString('utf8'))
    })
  })
}

/** What is wrong with a run that ended by itself. */
function faultOf(
  code: number | null,
  { stderr, stdout }: { stderr: Buffer; stdout: Buffer },
  { name, isHeld = false, whereToFind = '' }: Run,
): BackendFailed | undefined {
  if (code === 0)
    return isText(stdout) ? undefined : new BackendFailed(`${name} printed something that is not text`)
  const tail = complaintOf(stderr, stdout)
  const said = `${name} ended with ${code ?? 'a signal'}${tail && `: ${tail}`}`
  const isMissing = code === NOT_FOUND || (isHeld && UNFOUND.test(stderr.toString()))
  return isMissing ? new NotStarted(`${said}${whereToFind}`) : new BackendFailed(said)
}

/** Text in UTF-8, as far as that can be told: nothing else is an answer. */
const isText = (bytes: Buffer): boolean => isUtf8(bytes) && !bytes.includes(0)

/** bubblewrap would end at once, and all that it holds with it: asked is what runs inside. */
function askToEnd(pid: number | undefined, isHeld: boolean): void {
  const inside = isHeld && pid !== undefined ? descendantsOf(pid) : []
  if (inside.length === 0) killGroup(pid, 'SIGTERM')
  for (const one of inside)
    try {
      process.kill(one, 'SIGTERM')
    } catch {
      // it has ended
    }
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // the group is gone
  }
}
