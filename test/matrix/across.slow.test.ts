/** Every pair of a payment across two hubs that waits, and something that happens. */
import { between } from './between.ts'
import { testCells } from './cells.ts'
import { columns } from './columns.ts'
import { across } from './rows/across.ts'

testCells(across, [...columns, ...between], { isPatient: true })
