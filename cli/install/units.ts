/** Services of the user's own systemd that start this program: people write them by hand, so they are named and left. */
import * as fs from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { shellWord } from '../../protocol/shell.ts'
import type { Env } from './places.ts'

const UNIT_BYTES_MAX = 64 * 1024

export type Unit = { path: string; stop: string }

/** Units whose text names the program or the command `svc`. */
export function unitsOf(env: Env, program: string): Unit[] {
  const folder = join(env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'), 'systemd', 'user')
  return namesIn(folder)
    .map(name => join(folder, name))
    .filter(path => startsUs(path, program))
    .map(path => ({
      path,
      stop: `systemctl --user disable --now ${shellWord(basename(path))} && rm ${shellWord(path)}`,
    }))
}

function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder).filter(name => name.endsWith('.service'))
  } catch {
    return []
  }
}

function startsUs(path: string, program: string): boolean {
  try {
    if (!fs.statSync(path).isFile() || fs.statSync(path).size > UNIT_BYTES_MAX) return false
    const starts = /^\s*Exec\w+\s*=.*$/gm
    const lines = fs.readFileSync(path, 'utf8').match(starts) ?? []
    return lines.some(line => line.includes(program) || /[\s/=]svc\s+(daemon|up)\b/.test(line))
  } catch {
    return false
  }
}
