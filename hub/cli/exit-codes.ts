/** How a run of svc-hub that goes wrong ends: the first row that fits its error. */
import { AddressRefused, ConfigRefused } from '../config-refused.ts'
import { RightMissing, SetupRefused, StoreDenied } from '../store/setup-refused.ts'
import { EXIT_CONFIG, EXIT_FAILED, EXIT_USAGE } from '../terminal.ts'
import { UsageError } from './commands.ts'

type Kind = abstract new (...given: never[]) => Error

const endings: readonly (readonly [kind: Kind, code: number])[] = [
  [UsageError, EXIT_USAGE],
  // another try may find it free
  [AddressRefused, EXIT_FAILED],
  [ConfigRefused, EXIT_CONFIG],
  [SetupRefused, EXIT_CONFIG],
  [StoreDenied, EXIT_CONFIG],
  [RightMissing, EXIT_CONFIG],
]

/** What may be otherwise the next time ends with 1, so that a supervisor starts a hub anew. */
export const exitCodeOf = (error: unknown): number =>
  endings.find(([kind]) => error instanceof kind)?.[1] ?? EXIT_FAILED
