/* SPDX-License-Identifier: MIT */
/* table.h - the tables of the paper on COMIC++ that have counts. */
#ifndef PT_TABLE_H
#define PT_TABLE_H

/* Run the programs of this command line, which does not ask for a table, in another process, and print Table 5 or 6
 * after what it prints. Returns its status. */
int pt_table(int table, char **argv);

#endif
