#include "application.h"

#include "feed.h"
#include "report.h"

void application_run(void)
{
    uint8_t item;

    while (feed_start(sizeof item)) {
        report_restart();
        while (feed_receive(&item)) {
            report_text("hello, ");
            report_number(item, 1);
            report_line();
        }
    }
}
