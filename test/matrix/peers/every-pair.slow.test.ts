/** Every pair of something that waits between two hubs and something that happens. */
import { testCells } from './cells.ts'
import { mail, money, reading, travelling } from './rows.ts'

testCells([...mail, travelling('east'), ...money, ...reading])
