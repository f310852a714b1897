/** Mail that goes past the hub, and what happens to the direct line; all else that happens is in the slow file. */
import { testCells } from './cells.ts'
import { directly, directlySealed } from './directly.ts'
import { directMail, directSealed } from './rows/direct.ts'

testCells(directMail, directly, { isOpen: true })
testCells(directSealed, directlySealed)
