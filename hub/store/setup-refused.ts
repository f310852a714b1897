/** What no restart mends: whoever runs the hub has to change a setting, a file or a right first. */
import { EngineFault, StoreAway, StoreRefused } from './port.ts'

/** The hub is set up for another place, or by files that are not its own. */
export class SetupRefused extends StoreRefused {
  override name = 'SetupRefused'
}

/** The database is there, and lets nobody in who asks as this process does. */
export class StoreDenied extends StoreAway {
  override name = 'StoreDenied'
}

/** The role of this process lacks a right. */
export class RightMissing extends EngineFault {
  override name = 'RightMissing'
  readonly code: string
  constructor(code: string, sentence: string) {
    super(sentence)
    this.code = code
  }
}
