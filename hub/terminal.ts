/** What the commands of svc-hub share: standard output, exit codes, and files that are this user's alone. */
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { systemCode } from '../protocol/encoding/errors.ts'
import { callForm, withCommands } from '../protocol/shell.ts'

export const EXIT_FAILED = 1
export const EXIT_USAGE = 2
/** The configuration is wrong: starting again would end the same way (EX_CONFIG of sysexits.h). */
export const EXIT_CONFIG = 78
/** Nothing that the hub writes is for anybody else on the machine. */
const PRIVATE_UMASK = 0o077

/** From here on every new file is this user's alone. */
export function keepPrivate(): void {
  process.umask(PRIVATE_UMASK)
}

export const commandNames = [
  'serve',
  'init',
  'admission',
  'admit',
  'unadmit',
  'agents',
  'block',
  'unblock',
  'remove',
  'archive',
  'unarchive',
  'listed',
  'ranges',
  'quota',
  'grant',
  'redemptions',
  'invite',
  'clock',
  'witness',
  'peers',
  'rotate',
  'stats',
  'backup',
  'restore',
  'migrate',
  'doctor',
  'completion',
  'version',
  'help',
] as const

const isCommand = (word: string | undefined) => commandNames.some(name => name === word)

/** A text of ours with its commands as this program is called where it was started. */
export function asCalled(text: string): string {
  return withCommands(text, 'svc-hub', ({ words }) => (isCommand(words[0]) ? ownForm() : undefined))
}

function ownForm(): string {
  const launcher = join(dirname(process.argv[1] as string), '..', 'bin', 'svc-hub.js')
  return callForm({ name: 'svc-hub', launcher, cwd: process.cwd(), env: process.env }, fs)
}

let fault: unknown
let last: Promise<void> = Promise.resolve()

/** Writes to standard output; `outputFault` tells afterwards whether all of it arrived. */
export function say(text: string): void {
  if (fault !== undefined) return
  const kind = outputKind()
  // The stream of the runtime takes a write that a filling disk cut short for a whole one.
  if (kind === 'stream') writeStream(text)
  else writeWhole(text, kind)
}

/** What kept the output from arriving; a reader that goes away, as `head` does, has what it wanted. */
export async function outputFault(): Promise<unknown> {
  await last
  return systemCode(fault) === 'EPIPE' ? undefined : fault
}

/** Prints a result as JSON; returns the exit code. */
export function print(value: Record<string, unknown>): number {
  const { next } = value
  const shown = typeof next === 'string' ? { ...value, next: asCalled(next) } : value
  say(`${JSON.stringify(shown, null, 2)}\n`)
  return 0
}

function writeStream(text: string): void {
  last = new Promise(resolve => {
    process.stdout.write(text, error => {
      fault ??= error ?? undefined
      resolve()
    })
  })
}

function writeWhole(text: string, kind: OutputKind): void {
  try {
    fs.writeFileSync(process.stdout.fd, text)
    if (kind === 'file') fs.fsyncSync(process.stdout.fd)
  } catch (error) {
    fault = error
  }
}

type OutputKind = 'file' | 'device' | 'stream'

function outputKind(): OutputKind {
  if (process.stdout.isTTY) return 'stream'
  try {
    const stat = fs.fstatSync(process.stdout.fd)
    if (stat.isFile()) return 'file'
    return stat.isCharacterDevice() ? 'device' : 'stream'
  } catch {
    return 'stream'
  }
}
