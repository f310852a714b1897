/** Flag values as the operations take them, refused with the flag's name when they do not fit. */
import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { FILE_BYTES_MAX, readRegular } from '../../daemon/platform/files.ts'
import { isOutOfRoom } from '../../daemon/platform/room.ts'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { systemCode } from '../../protocol/encoding/errors.ts'
import type { Input } from '../command.ts'
import { CommandFailed, type Io, messageOf, sayOnTerminal, UsageRefused } from '../io.ts'

export function flags(input: Input, name: string): readonly string[] {
  return input.flags.get(name) ?? []
}

/** `{ [member]: value }` when the flag was given, else nothing to spread. */
export function flag<M extends string>(input: Input, name: string, member: M): { [K in M]?: string } {
  const value = flags(input, name)[0]
  return (value === undefined ? {} : { [member]: value }) as { [K in M]?: string }
}

/** The names that were given; one that is empty takes all of them away. */
export function names(input: Input, name: string): string[] | undefined {
  const given = flags(input, name)
  return given.length === 0 ? undefined : given.filter(value => value !== '')
}

export function integer<M extends string>(input: Input, name: string, member: M): { [K in M]?: number } {
  const value = flags(input, name)[0]
  if (value === undefined) return {}
  return { [member]: parseInteger(value, name) } as { [K in M]?: number }
}

export function parseInteger(value: string, name: string): number {
  if (!/^[0-9]{1,15}$/.test(value))
    throw new UsageRefused(`expected a whole number for ${name}, got "${value}"`)
  return Number(value)
}

const TRUE = ['on', 'true', 'yes', 'y', '1']
const FALSE = ['off', 'false', 'no', 'n', '0']

/** `words`: the pair that its help names; every other pair is taken as well. */
export function parseSwitch(value: string, name: string, words = 'true or false'): boolean {
  const word = value.toLowerCase()
  if (TRUE.includes(word)) return true
  if (FALSE.includes(word)) return false
  throw new UsageRefused(`expected ${words} for ${name}, got "${value}"`)
}

export function boolean<M extends string>(input: Input, name: string, member: M): { [K in M]?: boolean } {
  const value = flags(input, name)[0]
  return (value === undefined ? {} : { [member]: parseSwitch(value, name) }) as { [K in M]?: boolean }
}

/** base64 with or without padding, or base64url: people paste all three. */
export function bytesOf(value: string, name: string): Uint8Array {
  const url = value.trim().replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
  try {
    return fromBase64url(url, name)
  } catch {
    throw new UsageRefused(`${name} is not base64`, 'svc help verify')
  }
}

/** Makes a file of what `write` puts there and waits until the disk has it; nothing is written over, no part of it stays. */
export function newFile(path: string, name: string, write: (file: number) => void, mode?: number): void {
  const file = openNew(path, name, mode)
  try {
    write(file)
    fsyncSync(file)
  } catch (error) {
    rmSync(path, { force: true })
    throw systemCode(error) === undefined ? error : notWritten(path, name, error)
  } finally {
    closeSync(file)
  }
}

function openNew(path: string, name: string, mode: number | undefined): number {
  try {
    return openSync(path, 'wx', mode)
  } catch (error) {
    throw notWritten(path, name, error)
  }
}

function notWritten(path: string, name: string, error: unknown): CommandFailed {
  if (systemCode(error) === 'ENOENT')
    return new CommandFailed(`${name}: there is no folder ${dirname(path)}`, 'make it, or name another file')
  const next =
    systemCode(error) === 'EEXIST'
      ? 'name another file, or remove this one'
      : isOutOfRoom(error)
        ? 'free some room there, or name a file on another disk'
        : 'check the path'
  return new CommandFailed(`${name}: ${path} cannot be written: ${messageOf(error)}`, next)
}

/** The JSON object of a flag. */
export function json(input: Input, name: string): Record<string, never> {
  try {
    const value = JSON.parse(flags(input, name)[0] as string) as unknown
    if (value !== null && typeof value === 'object' && !Array.isArray(value))
      return value as Record<string, never>
  } catch {
    // the sentence below says it
  }
  throw new UsageRefused(`expected a JSON object for ${name}, for example ${name} '{"text":"…"}'`)
}

/** The value itself, or the content of the file when it is written `@path`. */
export function textOrFile(io: Io, value: string, name: string): string {
  if (!value.startsWith('@')) return value
  const path = resolve(io.cwd, value.slice(1))
  return utf8Of(readNamed(path, name)) ?? refuseBytes(`${path} is not UTF-8 text`, 'save it as UTF-8')
}

function readNamed(path: string, name: string): Uint8Array {
  try {
    return readRegular(path, FILE_BYTES_MAX)
  } catch (error) {
    throw new CommandFailed(`${name}: cannot read ${path}: ${messageOf(error)}`, 'check the path')
  }
}

function utf8Of(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function refuseBytes(sentence: string, next: string): never {
  throw new CommandFailed(sentence, next)
}

/** The text of an argument; `-` means all of standard input. */
export async function textOrInput(io: Io, value: string): Promise<string> {
  if (value !== '-') return value
  if (io.stdin.isTTY)
    sayOnTerminal(io, 'reading the text from standard input; Ctrl-D on an empty line ends it')
  const chunks: Buffer[] = []
  for await (const chunk of io.stdin) chunks.push(Buffer.from(chunk as Buffer))
  return (
    utf8Of(Buffer.concat(chunks)) ??
    refuseBytes('standard input is not UTF-8 text', 'send it as a file: --attach PATH')
  )
}

/** One line that a person types; empty where there is none. */
export async function askOnTerminal(io: Io, question: string): Promise<string> {
  const reader = createInterface({ input: io.stdin })
  io.err(question)
  try {
    const { done, value } = await reader[Symbol.asyncIterator]().next()
    return done === true ? '' : value.trim()
  } finally {
    reader.close()
  }
}

/** A recovery phrase, or the export that holds it, from standard input; it is never taken from the command line. */
export async function readPhrase(io: Io): Promise<string> {
  if (io.stdin.isTTY)
    sayOnTerminal(io, 'reading the recovery phrase from standard input; Ctrl-D on an empty line ends it')
  let text = ''
  for await (const chunk of io.stdin) text += String(chunk)
  return text.trimStart().startsWith('{') ? phraseOfExport(text) : text.trim()
}

/** The phrase in what `svc id next export` printed. */
function phraseOfExport(text: string): string {
  const phrase = memberOf(text, 'recovery_phrase')
  if (typeof phrase === 'string') return phrase
  throw new CommandFailed(
    'the JSON on standard input holds no recovery_phrase',
    'give the phrase alone, or all that svc id next export printed',
  )
}

function memberOf(text: string, name: string): unknown {
  try {
    return (JSON.parse(text) as Record<string, unknown>)[name]
  } catch {
    return undefined
  }
}
