/** The configuration as it stands now, and its changes. */
import { type Config, type ConfigChanges, readConfig, writeConfig } from './config.ts'

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

  /** Writes new values of members; undefined takes a member out. */
  change(changes: ConfigChanges): Config {
    this.#current = writeConfig(this.#dir, { ...this.#current, ...changes })
    this.#onChange()
    return this.#current
  }
}
