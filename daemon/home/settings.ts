/** The configuration as the node goes by it, and its changes, which keep what somebody edited in the file meanwhile. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import {
  CONFIG_FILE,
  type Config,
  type ConfigChanges,
  checkConfig,
  readConfig,
  writeConfig,
} from './config.ts'

type Member = keyof Config

export class Settings {
  #dir: string
  #current: Config
  #onChange: () => void

  constructor(dir: string, onChange: () => void) {
    this.#dir = dir
    this.#current = readConfig(dir)
    this.#onChange = onChange
  }

  get current(): Config {
    return this.#current
  }

  /**
   * Writes new values of members; undefined takes a member out. All others stay as they stand in the file. Refuses
   * where the file cannot be read, and to replace a block that was edited, since a new one is made of the one in use.
   */
  change(changes: ConfigChanges): Config {
    const file = this.requireReadable()
    const changed = checkConfig({ ...this.#current, ...changes })
    for (const member of Object.keys(changes) as Member[])
      if (isBlock(changes[member]) && !isDeepStrictEqual(file[member], this.#current[member]))
        refuseEdit(
          `config.json was edited since the start: ${member}; restart the node to use it, then repeat this`,
          'svc stop && svc up',
        )
    writeConfig(this.#dir, { ...file, ...changes })
    this.#current = changed
    this.#onChange()
    return changed
  }

  /** The configuration as the file holds it; refuses what no node would start with. */
  requireReadable(): Config {
    try {
      return this.#file()
    } catch (error) {
      return refuseEdit(
        `${wordsOf(error)}: it was edited since the start, and nothing was changed; mend it, then repeat this`,
        'svc doctor',
      )
    }
  }

  /** What somebody edited in the file since the start, which this node does not go by. */
  editedWarning(): string | undefined {
    try {
      const file = this.#file()
      const members = Object.keys({ ...this.#current, ...file }) as Member[]
      const edited = members.filter(member => !isDeepStrictEqual(file[member], this.#current[member]))
      if (edited.length === 0) return undefined
      return `config.json was edited since the start: ${edited.join(', ')}; restart the node to use it: svc stop && svc up`
    } catch (error) {
      return `config.json: it was edited since the start, and no node would start with it: ${wordsOf(error)}`
    }
  }

  /** A file that was taken away holds no edit. */
  #file(): Config {
    return existsSync(join(this.#dir, CONFIG_FILE)) ? readConfig(this.#dir) : this.#current
  }
}

const isBlock = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function refuseEdit(sentence: string, next: string): never {
  throw new OperationRefused('wrong_state', sentence, next)
}
