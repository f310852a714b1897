/** What the terminal inbox runs beside the node: commands of svc, the editor; and how a line or a path goes on. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { SECRET_FILE_MODE } from '../../daemon/platform/files.ts'
import { givenName } from '../../view/drafts.ts'
import type { CommandRow } from '../command.ts'
import { CommandFailed, type Io } from '../io.ts'
import { flagsOf, formsOf, pathsOf, suggestionsAfter, unique } from '../suggestions.ts'

const LISTED_MAX = 200
/** They hold the terminal, or stdin. */
const NOT_HERE = ['tui', 'daemon', 'mcp', 'hook']

/** Runs svc itself with a line that a person typed, for the node of this data directory. */
export async function runLine(
  io: Io,
  dataDir: string,
  line: string,
  { said, signal }: { said: (text: string) => void; signal: AbortSignal },
): Promise<number> {
  const words = wordsOf(line.replace(/^\s*svc\s+/, ''))
  if (NOT_HERE.includes(words[0] ?? '')) {
    said(`svc ${words[0]} needs a terminal of its own; run it in another one\n`)
    return 1
  }
  const columns = String(Math.max(40, io.columns - 2))
  const env = { ...io.env, SVC_DATA_DIR: dataDir, SVC_OUTPUT: 'human', COLUMNS: columns, NO_COLOR: '1' }
  return await spawned(process.execPath, [process.argv[1] as string, ...words], { env, said, signal })
}

type Spawned = {
  env: Record<string, string | undefined>
  said: (text: string) => void
  signal: AbortSignal
}

function spawned(program: string, words: readonly string[], { env, said, signal }: Spawned): Promise<number> {
  return new Promise((done, failed) => {
    const child = spawn(program, words, { env, signal, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8')
      stream.on('data', said)
    }
    child.on('error', error => (signal.aborted ? done(130) : failed(error)))
    child.on('close', code => done(code ?? 130))
  })
}

/** One part of a word: what stands in quotes, an escaped character, or plain letters. */
const PART = /'([^']*)(?:'|$)|"((?:\\.|[^"\\])*)(?:"|$)|\\(.?)|([^\s'"\\]+)/suy

/** Words of a line as a shell splits them: blanks part, quotes join, a backslash takes the next character as it is. */
export function wordsOf(line: string): string[] {
  const words: string[] = []
  let isOpen = false
  for (let at = 0; at < line.length; ) {
    PART.lastIndex = at
    const part = PART.exec(line)
    if (part === null) {
      isOpen = false
      at += 1
      continue
    }
    const [whole, single, double, escaped, plain] = part
    const text = single ?? double?.replace(/\\(.)/gs, '$1') ?? escaped ?? plain ?? ''
    words.push(isOpen ? (words.pop() ?? '') + text : text)
    isOpen = true
    at += Math.max(1, whole.length)
  }
  return words
}

/** Whole lines into which the last word of one may grow. */
export function completionsOf(commands: readonly CommandRow[], line: string): string[] {
  const cutAt = line.lastIndexOf(' ') + 1
  const [before, begun] = [line.slice(0, cutAt), line.slice(cutAt)]
  const words = before.trim().split(/\s+/).filter(Boolean)
  const behind = suggestionsAfter(commands)
  const row = rowOf(commands, words)
  const next = begun.startsWith('-')
    ? row === undefined
      ? []
      : flagsOf(row).flatMap(formsOf)
    : [...(behind.get(words.join(' ')) ?? [])]
  return unique(next)
    .filter(word => word.startsWith(begun) && word !== begun)
    .sort()
    .map(word => `${before}${word} `)
}

/** The command that the first words name, the longest path first. */
const rowOf = (commands: readonly CommandRow[], words: readonly string[]): CommandRow | undefined =>
  [words.slice(0, 2).join(' '), words[0] ?? '']
    .map(path => commands.find(row => pathsOf(row).includes(path)))
    .find(row => row !== undefined)

/** The command of a line; undefined where there is none, or where help is asked for. */
function commandOf(commands: readonly CommandRow[], line: string): CommandRow | undefined {
  const words = wordsOf(line.replace(/^\s*svc\s+/, ''))
  if (words.includes('-h') || words.includes('--help')) return undefined
  const plain = words.filter(word => !word.startsWith('-'))
  // the value of a flag may stand before the command
  return plain.map((_, i) => rowOf(commands, plain.slice(i))).find(row => row !== undefined)
}

/** What the command of a line does that cannot be taken back; undefined where it can, or where help is asked for. */
export const finalOf = (commands: readonly CommandRow[], line: string): string | undefined =>
  commandOf(commands, line)?.final

/** Whether the command of a line may change something of the node. */
export function isStep(commands: readonly CommandRow[], line: string): boolean {
  const { reads = false } = commandOf(commands, line) ?? { reads: true }
  if (typeof reads === 'boolean') return !reads
  return wordsOf(line).some(word => word === reads.unless || word.startsWith(`${reads.unless}=`))
}

type ShellPlace = Pick<Io, 'cwd' | 'env'>

/** A path as a person types it, from the folder in which svc was started. */
export function pathOf(io: ShellPlace, typed: string): string {
  const home = io.env['HOME'] ?? ''
  return resolve(io.cwd, typed === '~' || typed.startsWith('~/') ? join(home, typed.slice(1)) : typed)
}

/** Paths that begin so, folders with a slash behind them; hidden ones only where a dot was typed. */
export function pathsFrom(io: ShellPlace, begun: string): string[] {
  const isFolder = begun === '' || begun.endsWith('/')
  const folder = isFolder ? pathOf(io, begun === '' ? '.' : begun) : dirname(pathOf(io, begun))
  const name = isFolder ? '' : basename(begun)
  const shown = begun.slice(0, begun.length - name.length)
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter(entry => entry.name.startsWith(name) && (name.startsWith('.') || !entry.name.startsWith('.')))
      .slice(0, LISTED_MAX)
      .map(entry => `${shown}${entry.name}${entry.isDirectory() ? '/' : ''}`)
      .filter(path => path !== begun)
      .sort()
  } catch {
    return []
  }
}

/** A file that can be sent, or a sentence why not. */
export function fileAt(io: ShellPlace, typed: string): { path: string } | { fault: string } {
  const path = pathOf(io, typed)
  try {
    statSync(path)
    return { path }
  } catch {
    const given = givenName(typed)
    const says = given === undefined ? `there is no file ${typed}` : `${given} is no longer on this node`
    return { fault: `${says}; ctrl-x takes files off, the last one first` }
  }
}

/** The demo on this terminal, which is lent to it. */
export function runDemo(io: Io): Promise<void> {
  return new Promise((done, failed) => {
    const env = io.env as NodeJS.ProcessEnv
    const child = spawn(process.execPath, [process.argv[1] as string, 'demo'], { stdio: 'inherit', env })
    child.on('error', failed)
    child.on('close', () => done())
  })
}

/** The text as the person's editor saved it. */
export async function edited(io: Io, text: string): Promise<string> {
  const editor = io.env['VISUAL'] || io.env['EDITOR'] || 'vi'
  const folder = mkdtempSync(join(io.env['TMPDIR'] ?? '/tmp', 'svc-draft-'))
  const file = join(folder, 'draft.md')
  try {
    writeFileSync(file, text, { mode: SECRET_FILE_MODE })
    await new Promise<void>((done, failed) => {
      const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], {
        stdio: 'inherit',
        env: io.env as NodeJS.ProcessEnv,
      })
      child.on('error', failed)
      child.on('close', code =>
        code === 0
          ? done()
          : failed(new CommandFailed(`the editor (${editor}) ended with ${code}; the text is as it was`)),
      )
    })
    return readFileSync(file, 'utf8').replace(/\n$/, '')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
