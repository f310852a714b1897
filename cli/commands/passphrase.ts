/** The passphrase of an archive: from a file, from standard input, or typed unseen; never from the command line. */
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { readRegular } from '../../daemon/platform/files.ts'
import type { Input } from '../command.ts'
import { CommandFailed, type Io, messageOf, UsageRefused } from '../io.ts'
import { flags } from './values.ts'

const FILE_BYTES_MAX = 64 * 1024

/** `isNew`: it is typed twice, since nobody can find it out later. */
export async function readPassphrase(io: Io, input: Input, isNew: boolean): Promise<string> {
  const path = flags(input, '--passphrase-file')[0]
  if (path !== undefined) return firstLine(fileText(io, path))
  return io.stdin.isTTY ? await typed(io, isNew) : firstLine(await inputText(io))
}

function fileText(io: Io, given: string): string {
  const path = resolve(io.cwd, given)
  try {
    return readRegular(path, FILE_BYTES_MAX).toString('utf8')
  } catch (error) {
    throw new CommandFailed(`--passphrase-file: cannot read ${path}: ${messageOf(error)}`, 'check the path')
  }
}

async function inputText(io: Io): Promise<string> {
  let text = ''
  for await (const chunk of io.stdin) {
    text += String(chunk)
    if (text.includes('\n') || text.length > FILE_BYTES_MAX) break
  }
  return text
}

function firstLine(text: string): string {
  const [line = ''] = text.split(/\r?\n/)
  if (line === '')
    throw new UsageRefused(
      'expected the passphrase on standard input, in a terminal or with --passphrase-file',
    )
  return line
}

/** Lines are taken from one reader, so that none that was typed ahead is lost. */
async function typed(io: Io, isNew: boolean): Promise<string> {
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() })
  const reader = createInterface({ input: io.stdin, output: unseen, terminal: true })
  reader.on('SIGINT', () => reader.close())
  const lines = reader[Symbol.asyncIterator]()
  const ask = async (what: string): Promise<string> => {
    io.err(what)
    const { done, value } = await lines.next()
    io.err('\n')
    if (done === true || value === '') throw new UsageRefused('no passphrase was given')
    return value
  }
  try {
    const passphrase = await ask('passphrase: ')
    if (isNew && (await ask('the same once more: ')) !== passphrase)
      throw new UsageRefused('the two passphrases differ')
    return passphrase
  } finally {
    reader.close()
  }
}
