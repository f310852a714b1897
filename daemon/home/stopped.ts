/** The mark of a directory whose node was asked to end: sessions that it served wait until somebody starts one again. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { SECRET_FILE_MODE } from '../platform/files.ts'

const STOPPED_FILE = 'stopped'

const markOf = (dir: string): string => join(dir, STOPPED_FILE)

export const markStopped = (dir: string): void =>
  fs.writeFileSync(markOf(dir), '', { mode: SECRET_FILE_MODE })

export const forgetStopped = (dir: string): void => fs.rmSync(markOf(dir), { force: true })

export const isStopped = (dir: string): boolean => fs.existsSync(markOf(dir))
