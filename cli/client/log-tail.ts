/** The end of a node's log. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { readRegular } from '../../daemon/platform/files.ts'
import { CommandFailed } from '../io.ts'

/** Its last `lines` lines, of the older file as well; throws {@link CommandFailed} where there is no log. */
export function logTail(dir: string, lines: number): string {
  const file = join(dir, 'daemon.log')
  const text = [readOr(`${file}.1`), readOr(file)].filter(one => one !== undefined)
  if (text.length === 0) throw new CommandFailed(`no log at ${file}`, 'svc up')
  return lastLines(text.join(''), lines)
}

function lastLines(text: string, lines: number): string {
  const all = text.split('\n').filter(line => line !== '')
  const kept = lines === Number.POSITIVE_INFINITY ? all : all.slice(Math.max(0, all.length - lines))
  return kept.length === 0 ? '' : `${kept.join('\n')}\n`
}

/** Where the log of a data directory ends now; 0 where there is none. */
export function logEnd(dir: string): number {
  return statSync(join(dir, 'daemon.log'), { throwIfNoEntry: false })?.size ?? 0
}

/** What was written to it after `start`, its last `lines` lines; all of it where it began anew meanwhile. */
export function logSince(dir: string, start: number, lines: number): string {
  const bytes = readRegular(join(dir, 'daemon.log'))
  const text = bytes.subarray(bytes.length < start ? 0 : start).toString('utf8')
  return lastLines(text, lines)
}

/** A log that has grown is kept as one older file beside the present one. */
function readOr(path: string): string | undefined {
  try {
    return readRegular(path).toString('utf8')
  } catch {
    return undefined
  }
}
