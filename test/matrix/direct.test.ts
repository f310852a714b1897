/** Letters that go past the hub, and what happens to the direct line; all else that happens is in the slow file. */
import { testCells } from './cells.ts'
import { directly } from './directly.ts'
import { directMail } from './rows/direct.ts'

testCells(directMail, directly, { isOpen: true })
