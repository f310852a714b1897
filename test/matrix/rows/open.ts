/** What waits in open mail too. */
import type { Row } from '../row.ts'
import { mail } from './mail.ts'

const TAKES_BACK = 'the other side takes back its capabilities'
const ofSealed = /capabilities|top-up/

export const openRows: readonly Row[] = mail
  .filter(({ name }) => !ofSealed.test(name))
  .map(row => ({ ...row, cannot: { ...row.cannot, [TAKES_BACK]: 'open mail has none' } }))
